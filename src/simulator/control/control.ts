/** Control of a running simulator: its types, and its methods by the form of their answer. */
import type { createControl } from './local-control.ts';

export type SimulatorControl = ReturnType<typeof createControl>;

/** Methods that answer a list, one JSON value a line; the others answer one JSON value. */
const listMethods: readonly string[] = ['truth', 'deliveries'] satisfies readonly (keyof SimulatorControl)[];

export const isList = (method: string): boolean => listMethods.includes(method);

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
