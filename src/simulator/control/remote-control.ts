/** The control of a simulator in another process, over its HTTP addresses. */
import type { CallDocument } from '../../../schemas/call.ts';
import { transient } from '../../errors.ts';
import type { ClockChange } from '../calls/clock.ts';
import type { TruthEntry, TruthQuery } from '../calls/truth.ts';
import type { EditRequest, InsertRequest } from '../calls/world.ts';
import type { DeliveryRecord } from '../webhooks/webhook-sender.ts';
import type { CallChoice, ChangedCall, RuntimeOptions, SimulatorControl } from './control.ts';
import type { SimulatorStats } from './stats.ts';

export class RemoteControl implements SimulatorControl {
  private readonly origin: string;

  /** @param origin such as `http://127.0.0.1:8080`, without path */
  constructor(origin: string) {
    this.origin = origin;
  }

  private async ask(path: string, body?: object): Promise<Response> {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${this.origin}/__sim/${path}`, init);
    if (response.ok || response.status === 404) return response;
    throw transient('SIMULATOR_REFUSED', `The simulator refused ${path}: ${await response.text()}`);
  }

  private async get<T>(path: string): Promise<T | undefined> {
    const response = await this.ask(path);
    const body = (await response.json()) as T;
    return response.status === 404 ? undefined : body;
  }

  private async post<T>(path: string, body: object): Promise<T> {
    return (await (await this.ask(path, body)).json()) as T;
  }

  private async *lines<T>(path: string): AsyncIterable<T> {
    const response = await this.ask(path);
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body ?? []) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as T;
    }
    if (rest !== '') throw transient('SIMULATOR_GONE', 'The simulator ended in the middle of an answer.');
  }

  async stats(): Promise<SimulatorStats> {
    return (await this.get<SimulatorStats>('stats')) as SimulatorStats;
  }

  truth(query: TruthQuery = {}): AsyncIterable<TruthEntry> {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== false) parameters.set(name, String(value));
    return this.lines(`truth?${parameters}`);
  }

  truthOf(callId: string): Promise<TruthEntry | undefined> {
    return this.get(`truth/${callId}`);
  }

  documentAt(callId: string, version: number, delivered?: number): Promise<CallDocument | undefined> {
    return this.get(`truth/${callId}?version=${version}${delivered === undefined ? '' : `&delivered=${delivered}`}`);
  }

  deliveries(): AsyncIterable<DeliveryRecord> {
    return this.lines('deliveries');
  }

  async configure(options: RuntimeOptions): Promise<void> {
    await this.post('configure', options);
  }

  setClock(change: ClockChange): Promise<{ readonly now: string }> {
    return this.post('clock', change);
  }

  edit(request: CallChoice & EditRequest): Promise<readonly ChangedCall[]> {
    return this.post('edit', request);
  }

  insert(request: InsertRequest & { readonly count?: number }): Promise<readonly ChangedCall[]> {
    return this.post('insert', request);
  }

  delete(choice: CallChoice): Promise<readonly ChangedCall[]> {
    return this.post('delete', choice);
  }

  async startWebhooks(settings: RuntimeOptions['webhooks'] = {}): Promise<void> {
    await this.post('webhooks/start', settings);
  }

  async stopWebhooks(discard = false): Promise<void> {
    await this.post('webhooks/stop', { discard });
  }

  async sendWebhooks(choice: CallChoice & { readonly count?: number }): Promise<number> {
    return (await this.post<{ queued: number }>('webhooks/send', choice)).queued;
  }

  async drainWebhooks(): Promise<void> {
    await this.post('webhooks/drain', {});
  }

  async revokeTokens(): Promise<void> {
    await this.post('tokens/revoke', {});
  }

  async restartWebSocket(downMs = 0): Promise<void> {
    await this.post('websocket/restart', { downMs });
  }

  async closeWebSockets(code = 1001): Promise<void> {
    await this.post('websocket/close', { code });
  }
}
