/** Takes what names a person and may belong to no call: quarantined records, frames, aliases of tokens; but not what is held. */

import { createNameFinder } from '../../store/delivery/name-finder.ts';
import { type ChooseTexts, countTexts, type Purged, purgeTexts } from '../../store/delivery/purge.ts';
import { awaitTextFolds } from '../../store/ledger/fold-lock.ts';
import { joinDeletions } from '../../store/ledger/hold-lock.ts';
import { findFree, readFreeMatcher } from '../../store/ledger/holds.ts';
import { dropAliases, findAliases } from '../../store/loads/token-aliases.ts';
import type { Store } from '../../store/store.ts';

type IsMeant = (text: string) => boolean;
type Reading = Pick<Store, 'purpose' | 'query'>;
type TextCounts = Pick<Purged, 'aliases' | 'frames' | 'quarantine'>;

export interface MeantTexts {
  /** By values of the request; undefined where it has none. */
  readonly isMeant: IsMeant | undefined;
  /** Calls that were erased: what names one of them is meant too, but no alias. */
  readonly callIds: readonly string[];
}

/**
 * In transactions in which no hold can be put on. Calls have been erased before: texts that folds kept of them meanwhile are found.
 * @throws CallsyncError HOLD_UNDER_WAY, TOMBSTONE_KEY, DATABASE_…; may be repeated after any of them.
 */
export const purgeMeantTexts = async (store: Store, meant: MeantTexts): Promise<TextCounts> => {
  await awaitTextFolds(store);
  const isMeant = bodyMatcher(meant);
  const choose: ChooseTexts = async (tx, bodies) => {
    const found = bodies.map(isMeant);
    if (!found.includes(true)) return found;
    if (!(await joinDeletions(tx)).held) return found;
    const meantTexts = bodies.filter((_, at) => found[at]).map((body) => body.toString('utf8'));
    const isFree = (await findFree(tx, meantTexts, store)).values();
    return found.map((isFound) => isFound && isFree.next().value === true);
  };
  const purged = await purgeTexts(store, choose);
  const aliases = await store.transaction(async (tx) => {
    await joinDeletions(tx);
    const found = await findMeantAliases(tx, store, meant);
    await dropAliases(tx, found);
    return found.length;
  });
  return { ...purged, aliases };
};

/** What is left of them. @throws CallsyncError TOMBSTONE_KEY, DATABASE_… */
export const countMeantTexts = async (store: Store, meant: MeantTexts): Promise<TextCounts> => {
  const isMeant = bodyMatcher(meant);
  const isFree = await readFreeMatcher(store, store);
  const counts = await countTexts(store, (body) => isMeant(body) && isFree?.(body.toString('utf8')) !== false);
  return { ...counts, aliases: (await findMeantAliases(store, store, meant)).length };
};

const bodyMatcher = ({ isMeant, callIds }: MeantTexts): ((body: Buffer) => boolean) => {
  const namesIn = createNameFinder(callIds);
  return (body) => namesIn(body).length > 0 || isMeant?.(body.toString('utf8')) === true;
};

const findMeantAliases = async (db: Reading, store: Store, { isMeant }: MeantTexts): Promise<readonly string[]> => {
  if (isMeant === undefined) return [];
  const isFree = await readFreeMatcher(db, store);
  return await findAliases(db, (tokens) => isMeant(tokens) && isFree?.(tokens) !== false);
};
