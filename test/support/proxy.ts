/** A proxy that takes CONNECT: each tunnel leads to one server, whatever host it names. */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { listenOn } from './listen.ts';

/** @returns its address, until the end of the test, and the hosts that it was asked for, in order. */
export const openProxy = async (serverUrl: string) => {
  const hosts: string[] = [];
  const { hostname, port } = new URL(serverUrl);
  const proxy = createServer((_, response) => void response.writeHead(400).end());
  proxy.on('connect', ({ url = '' }, client) => {
    hosts.push(url);
    const onward = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(onward).pipe(client);
    });
    for (const [one, other] of [[client, onward] as const, [onward, client] as const])
      one.on('error', () => undefined).on('close', () => other.destroy());
    onTestFinished(() => void onward.destroy());
  });
  onTestFinished(() => void proxy.close());
  return { url: `http://127.0.0.1:${await listenOn(proxy)}`, hosts };
};
