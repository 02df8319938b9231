/** Requests of persons, as the commands make them. */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { meantBy, type PersonRequest, type PurgeScope } from '../../src/persons/request.ts';
import type { IngestDeps } from '../../src/pipeline/deps.ts';
import { beginErasure, finishErasure } from '../../src/pipeline/persons/erase.ts';
import type { ErasureReceipt } from '../../src/pipeline/persons/receipt.ts';
import type { Privacy } from '../../src/privacy/privacy.ts';
import type { Proof } from '../../src/store/store.ts';
import { createProofKeys } from '../../src/store/windows/chain.ts';

const noTokens = (): readonly string[] => [];

export const mean = (request: PersonRequest, tokensOf: Privacy['tokensOf'] | typeof noTokens = noTokens): PurgeScope =>
  meantBy(request, { countries: ['FR'], tokensOf });

/** Heads in a file that the test removes. */
export const openTestProof = (): Proof => ({
  keys: createProofKeys(Buffer.from('a key of the proof chain')),
  headsFile: join(tmpdir(), `callsync-heads-${randomUUID()}.json`),
});

export interface EraseInput {
  readonly proof: Proof;
  readonly suppress?: boolean;
  readonly exceptHeld?: boolean;
  readonly tokensOf?: Privacy['tokensOf'];
}

/** From the request to its receipt. */
export const erase = async (
  deps: IngestDeps,
  request: PersonRequest,
  { proof, suppress = false, exceptHeld = false, tokensOf }: EraseInput,
): Promise<ErasureReceipt> => {
  const requestId = await beginErasure(deps, mean(request, tokensOf), { suppress, exceptHeld });
  const { receipt, waiting } = await finishErasure({ ...deps, proof }, requestId, { load: true });
  if (receipt === undefined) throw new Error(`the erasure waits for ${waiting.join(', ')}`);
  return receipt;
};
