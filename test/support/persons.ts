/** Requests of persons, as the commands make them. */
import { meantBy, type PersonRequest, type PurgeScope } from '../../src/persons/request.ts';
import type { IngestDeps } from '../../src/pipeline/deps.ts';
import { beginErasure, type ErasureReceipt, finishErasure } from '../../src/pipeline/persons/erase.ts';
import type { Privacy } from '../../src/privacy/privacy.ts';
import type { Proof, Store } from '../../src/store/store.ts';

const noTokens = (): readonly string[] => [];

export const mean = (request: PersonRequest, tokensOf: Privacy['tokensOf'] | typeof noTokens = noTokens): PurgeScope =>
  meantBy(request, { countries: ['FR'], tokensOf });

/** The store under other keys, or other heads, of the proof chain. */
export const withProof = (store: Store, proof: Partial<Proof>): Store =>
  Object.create(store, { erasures: { value: { ...store.erasures, proof: { ...store.erasures.proof, ...proof } } } });

/** Settings of an erasure that neither keeps out nor spares anything. */
export const asUsual = { suppress: false, exceptHeld: false };

export type EraseInput = Partial<typeof asUsual> & { readonly tokensOf?: Privacy['tokensOf'] };

/** From the request to its receipt. */
export const erase = async (
  deps: IngestDeps,
  request: PersonRequest,
  { suppress = false, exceptHeld = false, tokensOf }: EraseInput = {},
): Promise<ErasureReceipt> => {
  const requestId = await beginErasure(deps, mean(request, tokensOf), { suppress, exceptHeld });
  const { receipt, waiting } = await finishErasure(deps, requestId, { load: true });
  if (receipt === undefined) throw new Error(`the erasure waits for ${waiting.join(', ')}`);
  return receipt;
};
