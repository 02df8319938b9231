/** Dependencies of the use cases. Use cases know nothing of Temporal; an activity or a command passes these in. */

import type { SyncSettings } from '../../schemas/config/sync.ts';
import { CallsyncError } from '../lib/errors.ts';
import type { Source } from '../source/source.ts';
import type { GateRules } from '../store/gate.ts';
import type { DriftWatch } from '../store/status/drift.ts';
import type { Store } from '../store/store.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export interface WarehouseTarget {
  readonly warehouse: Warehouse;
  /** The warehouse also gets the table of whole documents. */
  readonly documents: boolean;
}

/** Folding and loading, without access to the service. */
export interface IngestDeps extends GateRules {
  readonly store: Store;
  readonly targets: readonly WarehouseTarget[];
  /** Version of the privacy rules in `sanitize`; absent where there are none. */
  readonly rulesVersion?: string;
  /** Whether a version that a delivery came with is of another key of tokens under the name of one of ours. */
  readonly isForeign?: ((version: string) => boolean) | undefined;
  /** Path of the field of a record that holds the end of processing. */
  readonly processedField: string;
  /** Microseconds that the service's clock may be ahead of ours (`sync.clock_skew`). */
  readonly clockSkew: number;
  /** Ask the API for each call that a delivery changed (`sync.confirm_webhooks`). */
  readonly confirmWebhooks?: boolean;
  readonly log: (event: string, fields: Record<string, unknown>) => void;
  /** Sees every folded observation; absent where drift is not reported. */
  readonly drift?: DriftWatch;
  /** Gets reports of finished work; absent if no process counts it. */
  readonly observer?: WorkObserver;
}

export interface WorkObserver {
  /** @param batch.origin of `IncomingBatch`; its part before a colon names the kind of work. */
  folded(batch: { readonly origin: string } & Readonly<Record<'changed' | 'unchanged' | 'rejected', number>>): void;
  loaded(load: {
    readonly warehouse: string;
    readonly outcome: 'committed' | 'failed';
    readonly calls: number;
    readonly seconds: number;
  }): void;
}

/** Reading the service as well. */
export interface ReadDeps extends IngestDeps, Pick<SyncSettings, 'windows'> {
  readonly source: Source;
}

/** A long use case that may go on where an earlier attempt stopped. */
export interface LongRun<Progress> {
  readonly signal: AbortSignal;
  /** The last progress that an earlier attempt reported. */
  readonly resume?: Progress | undefined;
  /** Stores progress for the next attempt. */
  onProgress(progress: Progress): void;
}

/** Names of the configured warehouses. */
export const namesOf = ({ targets }: Pick<IngestDeps, 'targets'>) => targets.map(({ warehouse }) => warehouse.name);

/**
 * Result of work with one warehouse. Undefined if the warehouse is away; callsync logs this and tries again later.
 */
export const unlessAway = async <T>(
  { log }: Pick<IngestDeps, 'log'>,
  { name }: Pick<Warehouse, 'name'>,
  what: string,
  work: () => Promise<T>,
): Promise<T | undefined> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CallsyncError)) throw error;
    log(what, { warehouse: name, code: error.code });
    return undefined;
  }
};
