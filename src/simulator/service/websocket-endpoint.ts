/** The streaming endpoint of interface §5.2; its protocol is not shown, so the frames are invented. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { type Counters, countOne } from '../control/stats.ts';
import type { TokenStore } from './token-endpoint.ts';

/** The address of the other end; IPv4 as such, also on a socket for both families. */
export const addressOf = (request: IncomingMessage): string =>
  (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '');

export class WebSocketEndpoint {
  private readonly sockets = new WebSocketServer({ noServer: true });
  private readonly settings: SimulatorSettings;
  private readonly tokens: TokenStore;
  private readonly counters: Counters;
  private refusingUntil = 0;

  constructor(server: Server, settings: SimulatorSettings, tokens: TokenStore, counters: Counters) {
    this.settings = settings;
    this.tokens = tokens;
    this.counters = counters;
    server.on('upgrade', (request, socket, head) => this.upgrade(request, socket, head));
  }

  /** Drops every connection; refuses new ones with 503 for a while, as a restart does. */
  restart(downMs: number): void {
    this.refusingUntil = performance.now() + downMs;
    for (const socket of this.sockets.clients) socket.terminate();
  }

  /** Closes every connection in order. */
  closeAll(code: number): void {
    for (const socket of this.sockets.clients) socket.close(code, 'closed by the service');
  }

  private refusal(request: IncomingMessage): readonly [number, string] | undefined {
    const { path, whitelist, tokenAgeSeconds } = this.settings.websocket;
    if (performance.now() < this.refusingUntil) return [503, 'restarting'];
    if (new URL(request.url ?? '/', 'http://simulator').pathname !== path) return [404, 'path'];
    if (whitelist.length > 0 && !whitelist.includes(addressOf(request))) return [403, 'address'];
    const token = /^bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const state = token === undefined ? 'absent' : this.tokens.checkAge(token, tokenAgeSeconds);
    return state === 'valid' ? undefined : [401, `token_${state}`];
  }

  private upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined);
    const refused = this.refusal(request);
    if (refused === undefined) {
      this.sockets.handleUpgrade(request, socket, head, (opened) => this.stream(opened));
      return;
    }
    countOne(this.counters.websocket.refused, refused[1]);
    socket.end(`HTTP/1.1 ${refused[0]} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  }

  private stream(socket: WebSocket): void {
    const { websocket: counts } = this.counters;
    counts.opened++;
    counts.open++;
    let timer: NodeJS.Timeout | undefined;
    let number = 0;
    const sendNext = (): void => {
      const { framesPerSecond } = this.settings.websocket;
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
  }

  close(): void {
    this.restart(0);
    this.sockets.close();
  }
}
