/**
 * Actions of tests and users on a running simulator. The same over HTTP: `POST /__sim/{method}`, arguments as JSON.
 */
import type { CallDocument } from '../../../schemas/call.ts';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import type { ClockChange } from '../calls/clock.ts';
import type { TruthEntry, TruthQuery } from '../calls/truth.ts';
import type { EditRequest, InsertRequest } from '../calls/world.ts';
import type { DeliveryRecord } from '../webhooks/webhook-sender.ts';
import type { SimulatorStats } from './stats.ts';

/** Selects calls: by id, or as a seeded choice among the listed ones. */
export interface CallChoice {
  readonly callIds?: readonly string[];
  /** How many listed calls, chosen by `seed`; with `withinHours` only those processed in the last hours. */
  readonly random?: number;
  readonly seed?: number;
  readonly withinHours?: number;
}

export interface ChangedCall {
  readonly callId: string;
  readonly version: number;
}

/** Sections to change while the service runs. Absent sections stay. */
export type RuntimeOptions = Omit<
  SimulatorOptions,
  'seed' | 'host' | 'port' | 'calls' | 'edits' | 'clock' | 'staticPages' | 'keep'
>;

export interface SimulatorControl {
  stats(): Promise<SimulatorStats>;
  /** Every call that can be identified, in index order. */
  truth(query?: TruthQuery): AsyncIterable<TruthEntry>;
  truthOf(callId: string): Promise<TruthEntry | undefined>;
  /**
   * The document of a client if this version were the current one. `delivered` replaces the version of the last
   * acknowledged webhook, because a failed one may have been stored.
   */
  documentAt(callId: string, version: number, delivered?: number): Promise<CallDocument | undefined>;
  /** Settled deliveries in the order in which they were settled. */
  deliveries(): AsyncIterable<DeliveryRecord>;
  configure(options: RuntimeOptions): Promise<void>;
  setClock(change: ClockChange): Promise<{ readonly now: string }>;
  edit(request: CallChoice & EditRequest): Promise<readonly ChangedCall[]>;
  insert(request: InsertRequest & { readonly count?: number }): Promise<readonly ChangedCall[]>;
  delete(choice: CallChoice): Promise<readonly ChangedCall[]>;
  /** Sends calls that are processed from now on. Merges into the `webhooks` section first. */
  startWebhooks(settings?: RuntimeOptions['webhooks']): Promise<void>;
  /** Queues no new delivery; `discard` also drops the waiting ones. */
  stopWebhooks(discard?: boolean): Promise<void>;
  /** Queues the present version of calls at once, sender started or not; returns how many. */
  sendWebhooks(choice: CallChoice & { readonly count?: number }): Promise<number>;
  /** Resolves when nothing waits or is in flight. */
  drainWebhooks(): Promise<void>;
  /** Every issued token becomes unknown. */
  revokeTokens(): Promise<void>;
  /** Drops all WebSocket connections and refuses new ones for a while. */
  restartWebSocket(downMs?: number): Promise<void>;
  closeWebSockets(code?: number): Promise<void>;
}

/** Methods that answer one JSON value; the HTTP endpoint serves these and no other property. */
export const valueMethods = [
  'stats',
  'truthOf',
  'documentAt',
  'configure',
  'setClock',
  'edit',
  'insert',
  'delete',
  'startWebhooks',
  'stopWebhooks',
  'sendWebhooks',
  'drainWebhooks',
  'revokeTokens',
  'restartWebSocket',
  'closeWebSockets',
] as const satisfies readonly (keyof SimulatorControl)[];

/** Methods that answer a list, one JSON value a line. */
export const listMethods = ['truth', 'deliveries'] as const satisfies readonly (keyof SimulatorControl)[];

export interface SimulatorAddresses {
  /** base_url of the call API. */
  readonly url: string;
  /** Everything below it; equals `url` unless the dialect selects its version by path. */
  readonly origin: string;
  readonly authUrl: string;
  readonly tokenUrl: string;
  readonly realm: string;
  readonly port: number;
  readonly wsUrl: string;
  readonly mrcp: { readonly host: string; readonly port: number };
  readonly clientId: string;
  readonly clientSecret: string;
  readonly signingSecret: string | null;
  /** Bearer token of the control endpoint; random at every start. */
  readonly controlToken: string;
  /** Range of planned call times, `[from, to)`. */
  readonly range: { readonly from: string; readonly to: string };
}
