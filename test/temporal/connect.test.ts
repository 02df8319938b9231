import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http2';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { expect, onTestFinished, test } from 'vitest';
import { temporalConfigSchema } from '../../schemas/config/temporal.ts';
import { connectClient, repeatWhileOpen } from '../../src/temporal/connect.ts';
import { connectWorker } from '../../src/temporal/worker.ts';
import { closedPort } from '../support/closed-port.ts';
import { useFolder } from '../support/folder.ts';
import { listenOn } from '../support/listen.ts';
import { useTemporal } from '../support/temporal.ts';

const folder = useFolder('api-key');
test('an API key that is changed in its file takes effect in clients and workers that are connected', async () => {
  const seen: (string | undefined)[] = [];
  // As much of a gRPC server as a connection needs: every call is answered with an empty message.
  const server = createServer().on('stream', (stream, headers) => {
    seen.push(headers.authorization);
    stream.on('error', () => {});
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.alloc(5));
  });
  const address = `127.0.0.1:${await listenOn(server)}`;
  onTestFinished(() => void server.close());
  const file = join(folder, 'key');
  await writeFile(file, 'first\n');
  const config = temporalConfigSchema.parse({ api_key_file: file, tls: { enabled: false } });
  const { client, connection } = await connectClient(config, address);
  const worker = await connectWorker(config, address, { refreshMs: 10 });
  expect(seen.length).toBeGreaterThan(0);
  expect(new Set(seen)).toEqual(new Set(['Bearer first']));
  await writeFile(file, 'the second\n');
  await client.workflowService.getSystemInfo({});
  expect(seen.at(-1)).toBe('Bearer the second');
  const ask = () => worker.workflowService.getSystemInfo({}).then(() => seen.at(-1));
  await expect.poll(ask).toBe('Bearer the second');
  await connection.close();
  await worker.close();
});

test('a call that waits to be repeated ends with its connection', async () => {
  const connection = Connection.lazy({
    address: `127.0.0.1:${closedPort}`,
    interceptors: [
      (options, nextCall) =>
        repeatWhileOpen(options, (own) => {
          const call = nextCall(own);
          const start = call.start.bind(call);
          // Once an attempt has failed, before the next one.
          call.start = (metadata, listener) =>
            start(metadata, {
              onReceiveMessage: (message) => listener?.onReceiveMessage?.(message),
              onReceiveStatus(status) {
                listener?.onReceiveStatus?.(status);
                void connection.close();
              },
            });
          return call;
        }),
    ],
  });
  await expect(connection.workflowService.getSystemInfo({})).rejects.toThrow(/The connection was closed/);
});

test('a missing namespace is named with the command that creates it', async () => {
  const { address } = await useTemporal();
  const refused = connectClient(temporalConfigSchema.parse({ namespace: 'nowhere' }), address);
  await expect(refused).rejects.toMatchObject({
    code: 'TEMPORAL_NAMESPACE',
    message: `${address} has no namespace nowhere.`,
    hint: expect.stringMatching(/namespace create --address \S+ -n nowhere/),
  });
});
