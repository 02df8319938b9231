/** Interface of a kind of warehouse. No code outside a kind's folder asks for the kind. */
import type { ZodType } from 'zod';
import type { Fragments } from './fragments.ts';
import type { Lease, Warehouse } from './warehouse.ts';

export interface WarehouseKind<C> {
  /** `type` of its settings. */
  readonly type: string;
  readonly config: ZodType<C>;
  /** Nothing connects, and no library of a vendor is loaded, before the first call of a method. */
  create(given: GivenWarehouse<C>): Warehouse;
  /**
   * One sentence on the rights of the credentials; leaves nothing behind. `storeUrl` rejects where there is no store.
   * @throws CallsyncError
   */
  checkAccess(given: Pick<GivenWarehouse<C>, 'name' | 'config'> & { storeUrl: () => Promise<Url> }): Promise<string>;
  place(config: C): Place;
  /** Questions of `callsync init`; `key` is the setting that the answer is written to. */
  readonly questions: readonly { readonly key: string; readonly message: string; readonly required: boolean }[];
}

interface GivenWarehouse<C> {
  readonly name: string;
  readonly config: C;
  /** URL of the store, for a warehouse on its server. */
  readonly storeUrl: Url;
  /** Shared by all processes that load the warehouse, as is `memory`. */
  readonly lease: Lease;
  /** A list of small records that only the holder of the lease writes. */
  readonly memory: <T>() => { read(): Promise<readonly T[]>; write(records: readonly T[]): Promise<void> };
  /** Gets failures of background work. */
  readonly warn?: ((error: unknown) => void) | undefined;
}

/** A function reads it anew at each connection. */
type Url = string | (() => string);

/** Places of tables and views, and the dialect of marts. */
export interface Place {
  readonly tables: string;
  readonly marts: string;
  /** Place of the marts for the restricted role. */
  readonly restrictedMarts: string;
  readonly fragments: Fragments;
  /** A table or view of one of the two, as SQL names it. */
  relation(schema: string, name: string): string;
  /** An index finds the rows of a call: marts join these call by call, and the planner drops joins that a question does not need. */
  readonly joinsByCall?: true;
  /** Columns that stand for `words` of table utterances; by default that column. */
  readonly words?: readonly Readonly<Record<'name' | 'type' | 'description', string>>[];
  /** A text as a constant of SQL. */
  literal(text: string): string;
}
