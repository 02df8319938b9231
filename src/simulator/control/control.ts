/** Control of a running simulator: its types, and its methods by the form of their answer. */
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import type { createControl } from './local-control.ts';

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

export type SimulatorControl = ReturnType<typeof createControl>;

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
