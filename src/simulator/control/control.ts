/** Control of a running simulator: its types, and its methods by the form of their answer. */
import type { createControl } from './local-control.ts';

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
