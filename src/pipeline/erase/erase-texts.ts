/** Takes what names a person and may belong to no call: quarantined records, frames, aliases of tokens; but not what is held. */
import { type ChooseTexts, countTexts, type Purged, purgeTexts } from '../../store/delivery/purge.ts';
import { joinDeletions } from '../../store/ledger/hold-lock.ts';
import { readHeldKeys } from '../../store/ledger/holds.ts';
import { dropAliases, findAliases } from '../../store/loads/token-aliases.ts';
import type { Store } from '../../store/store.ts';

type IsMeant = (text: string) => boolean;
type TextCounts = Pick<Purged, 'aliases' | 'frames' | 'quarantine'>;

/** In transactions in which no hold can be put on. @throws CallsyncError HOLD_UNDER_WAY, TOMBSTONE_KEY, DATABASE_…; may be repeated after any of them. */
export const purgeMeantTexts = async (store: Store, isMeant: IsMeant): Promise<TextCounts> => {
  const choose: ChooseTexts = async (tx, texts) => {
    const meant = texts.map((text) => isMeant(text.toString('utf8')));
    if (!meant.includes(true)) return meant;
    await joinDeletions(tx);
    const isFree = await exceptHeld(tx, store, isMeant);
    return texts.map((text, at) => meant[at] === true && isFree(text.toString('utf8')));
  };
  const purged = await purgeTexts(store, choose);
  const aliases = await store.transaction(async (tx) => {
    await joinDeletions(tx);
    const found = await findAliases(tx, await exceptHeld(tx, store, isMeant));
    await dropAliases(tx, found);
    return found.length;
  });
  return { ...purged, aliases };
};

/** What is left of them. @throws CallsyncError TOMBSTONE_KEY, DATABASE_… */
export const countMeantTexts = async (store: Store, isMeant: IsMeant): Promise<TextCounts> =>
  await countTexts(store, await exceptHeld(store, store, isMeant));

const exceptHeld = async (
  db: Parameters<typeof readHeldKeys>[0],
  { erasures, keyOf }: Store,
  isMeant: IsMeant,
): Promise<IsMeant> => {
  const held = await readHeldKeys(db);
  if (held.size === 0) return isMeant;
  return (text) => isMeant(text) && ![...erasures.subjectsIn(text)].some((subject) => held.has(keyOf(subject)));
};
