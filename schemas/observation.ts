/** One observation of a call, before it is folded into the ledger. */
import type { JsonRecord } from '../src/lib/json-record.ts';

export type ObservationSource = 'import' | 'webhook' | 'poll';

/** Order between observations of the same instant: import < webhook < poll. */
export const sourceRank: Readonly<Record<ObservationSource, number>> = { import: 0, webhook: 1, poll: 2 };

export interface Observation {
  readonly callId: string;
  readonly source: ObservationSource;
  /** Microseconds since the epoch, on the service's clock if the record tells it. */
  readonly observedAt: number;
  /** Only the top-level fields that this observation carried; an absent field says nothing about the call. */
  readonly fields: JsonRecord;
  /** Hash of the bytes in which it came, where privacy rules have changed them since. */
  readonly rawHash?: Buffer;
  /** Version of the privacy rules that `fields` are under already. */
  readonly privacyVersion?: string;
  /**
   * Orders it among others of the same instant and source, the same whatever rules have left of its values: `orderLength`
   * characters (`src/calls/fold.ts`). Without one, its values do.
   */
  readonly order?: string;
  /** Tokens that former keys made of values in `fields` → those in their place, where privacy rules have former keys. */
  readonly aliases?: ReadonlyMap<string, string>;
}

/** A record that could not become an observation; it goes to quarantine with its bytes. */
export interface RejectedRecord {
  readonly reason: string;
  readonly body: Buffer;
  /** Recognises equal bytes; by default SHA-256 of the body. */
  readonly bodyHash?: Buffer;
  readonly source: ObservationSource;
  /** Where it came from: `list:<window>`, `inbox:<seq>`, `file:line`. Never personal data. */
  readonly origin: string;
  readonly receivedAt: Date;
}

/**
 * Proof that a reading brought every call of a window. One of: the same total before and after, one response with
 * everything, a second listing, overlapping pages, none.
 */
export type Shown = 'total' | 'one_response' | 'second_listing' | 'page_overlap' | 'none';
