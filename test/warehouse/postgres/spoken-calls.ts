/** Calls by what is said in them, and searching once they are indexed. */
import type { SearchRequest, SearchResult } from '../../../src/warehouse/search.ts';
import { type CallLoad, requireFrom, type Warehouse } from '../../../src/warehouse/warehouse.ts';
import { makeCall } from '../batches.ts';

export interface Spoken {
  readonly callId: string;
  readonly lang?: string;
  readonly revision?: number;
  readonly minute?: number;
  /** Side and text of each utterance. */
  readonly says: readonly (readonly [string, string])[];
}

export const spoken = ({ callId, lang = 'fr-FR', revision = 1, minute = 0, says }: Spoken): CallLoad =>
  makeCall({
    callId,
    revision,
    timestamp: `2026-01-05T10:${String(minute).padStart(2, '0')}:00Z`,
    extra: {
      transcript_json: { callData: says.map(([from, content]) => ({ from, content, words: [] })), meta: { lang } },
    },
  });

/** A search that found nothing pending: what another connection indexes just now may take long on a busy machine. */
export const findAll = async (warehouse: Warehouse, request: SearchRequest): Promise<SearchResult> => {
  for (;;) {
    const result = await requireFrom(warehouse, 'search').find(request);
    if (result.pending === 0) return result;
  }
};
