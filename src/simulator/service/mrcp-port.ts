/** The MRCP interface (§5.3): a TCP port behind an IP whitelist, which refuses other clients or never answers them. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import type { Counters } from '../control/stats.ts';

type Mode = SimulatorSettings['mrcp']['mode'];

/** Listens, then blocks its thread: the kernel fills the queue of one and drops every further SYN. */
const deafListener = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen({ ...workerData, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0), 20);
  });`;

export class MrcpPort {
  private port = 0;
  private server: Server | undefined;
  private worker: Worker | undefined;
  private readonly sockets = new Set<Socket>();
  private readonly host: string;
  private readonly counters: Counters;

  constructor(host: string, counters: Counters) {
    this.host = host;
    this.counters = counters;
  }

  /** Opens the port in a mode; a later change keeps the port number. Returns it. */
  async open(mode: Mode): Promise<number> {
    await this.close();
    if (mode === 'unanswered') await this.listenDeaf();
    else await this.listen();
    if (mode === 'refuse') await this.close();
    return this.port;
  }

  private listen(): Promise<void> {
    const server = createServer((socket) => {
      this.counters.mrcp.connections++;
      this.sockets.add(socket);
      socket.on('data', (data) => {
        this.counters.mrcp.bytes += data.length;
      });
      socket.on('error', () => undefined);
      socket.on('close', () => this.sockets.delete(socket));
    });
    this.server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, this.host, () => {
        this.port = (server.address() as { port: number }).port;
        resolve();
      });
    });
  }

  private async listenDeaf(): Promise<void> {
    const worker = new Worker(deafListener, { eval: true, workerData: { host: this.host, port: this.port } });
    this.worker = worker;
    this.port = await new Promise<number>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    await new Promise((resolve) => setTimeout(resolve, 60));
    for (let i = 0; i < 4; i++) {
      const socket = connect(this.port, this.host);
      socket.on('error', () => undefined);
      this.sockets.add(socket);
    }
    await new Promise((resolve) => setTimeout(resolve, 60));
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
    const { server, worker } = this;
    this.server = undefined;
    this.worker = undefined;
    await worker?.terminate();
    if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  }
}
