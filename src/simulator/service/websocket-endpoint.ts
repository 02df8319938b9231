/** The streaming endpoint of interface §5.2; its protocol is not shown, so the frames are invented. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { type Counters, countOne } from '../control/stats.ts';
import type { TokenStore } from './token-endpoint.ts';

/** The address of the other end; IPv4 as such, also on a socket for both families. */
export const addressOf = (request: IncomingMessage) => (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '');

export type WebSocketEndpoint = ReturnType<typeof openWebSocketEndpoint>;

/** Takes the WebSocket connections of the server. */
export const openWebSocketEndpoint = (
  server: Server,
  settings: SimulatorSettings,
  { tokens, counters }: { readonly tokens: TokenStore; readonly counters: Counters },
) => {
  const sockets = new WebSocketServer({ noServer: true });
  const { websocket: counts } = counters;
  let refusingUntil = 0;

  const refusal = (request: IncomingMessage): readonly [number, string] | undefined => {
    const { path, whitelist } = settings.websocket;
    if (performance.now() < refusingUntil) return [503, 'restarting'];
    if (new URL(request.url ?? '/', 'http://simulator').pathname !== path) return [404, 'path'];
    if (whitelist.length > 0 && !whitelist.includes(addressOf(request))) return [403, 'address'];
    const token = /^bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const state = token === undefined ? 'absent' : tokens.checkAge(token);
    return state === 'valid' ? undefined : [401, `token_${state}`];
  };

  const stream = (socket: WebSocket): void => {
    counts.opened++;
    counts.open++;
    let timer: NodeJS.Timeout | undefined;
    let number = 0;
    const sendNext = (): void => {
      const { framesPerSecond } = settings.websocket;
      if (framesPerSecond > 0 && socket.readyState === socket.OPEN) {
        const frame = JSON.stringify({ event: 'transcript', number, text: 'x'.repeat(80) });
        socket.send(number % 5 === 4 ? Buffer.from(frame) : frame);
        number++;
        counts.frames++;
      }
      timer = setTimeout(sendNext, framesPerSecond > 0 ? 1_000 / framesPerSecond : 100);
    };
    sendNext();
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      counts.open--;
    });
  };

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined);
    const refused = refusal(request);
    if (refused === undefined) return sockets.handleUpgrade(request, socket, head, stream);
    countOne(counts.refused, refused[1]);
    socket.end(`HTTP/1.1 ${refused[0]} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  });

  /** Drops every connection; refuses new ones with 503 for a while, as a restart does. */
  const restart = (downMs: number): void => {
    refusingUntil = performance.now() + downMs;
    for (const socket of sockets.clients) socket.terminate();
  };
  return {
    restart,
    /** Closes every connection in order. */
    closeAll: (code: number) => {
      for (const socket of sockets.clients) socket.close(code, 'closed by the service');
    },
    close: () => {
      restart(0);
      sockets.close();
    },
  };
};
