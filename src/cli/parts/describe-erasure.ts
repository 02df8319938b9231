/** The receipt of an erasure in sentences. */
import { countOf } from '../../lib/count-of.ts';
import type { ErasureReceipt } from '../../pipeline/persons/receipt.ts';

const are = (n: number): string => (n === 1 ? 'is' : 'are');

/** Of calls that were neither stored nor erased; older receipts do not tell. */
const countUnseen = ({ calls, known = calls, erasedBefore = 0 }: ErasureReceipt): number =>
  Math.max(0, calls - known - erasedBefore);

const describeMeant = (receipt: ErasureReceipt): string => {
  const { calls, known = calls, erasedBefore = 0 } = receipt;
  const unseen = countUnseen(receipt);
  const parts = [
    `${known} stored here`,
    ...(erasedBefore > 0 ? [`${erasedBefore} erased before`] : []),
    ...(unseen > 0 ? [`${unseen} never seen here`] : []),
  ];
  return `${countOf(calls, 'call')} ${are(calls)} meant${parts.length > 1 ? `: ${parts.join(', ')}` : ''}`;
};

const describeUnseen = (receipt: ErasureReceipt): string[] => {
  if (countUnseen(receipt) === 0) return [];
  const keeps = receipt.dryRun
    ? 'With --yes it is kept out, should it ever come'
    : 'It is kept out, should it ever come';
  return [`Check the id of a call that was never seen. ${keeps}.`];
};

const describeHeld = (held: number): string[] =>
  held === 0
    ? []
    : [`${held} of them ${are(held)} under a legal hold and ${held === 1 ? 'stays' : 'stay'}: ${listHolds}.`];
const listHolds = 'callsync privacy hold list';

const describePreview = (receipt: ErasureReceipt, exceptHeld: boolean): string[] => {
  const { calls, held, erasedBefore = 0 } = receipt;
  const meant = `${describeMeant(receipt)}.`;
  if (held > 0 && !exceptHeld) {
    const others = held < calls ? ' With --except-held it erases the others.' : '';
    return [
      `${meant} Nothing was erased.`,
      `${held} of them ${are(held)} under a legal hold, so --yes refuses all: ${listHolds}.${others}`,
    ];
  }
  if (calls > 0 && calls === erasedBefore) return [`${meant} Nothing is left to erase.`];
  return [`${meant} Nothing was erased; --yes erases them for good.`, ...describeHeld(held)];
};

/** @param exceptHeld of a dry run: whether it was asked for with --except-held. */
export const describeErasure = (receipt: ErasureReceipt, { exceptHeld = false } = {}): string => {
  const { dryRun, erased, held, purged, sealed, found, copies, proof } = receipt;
  if (dryRun || purged === undefined || found === undefined)
    return [...describePreview(receipt, exceptHeld), ...describeUnseen(receipt)].join('\n');
  const left = found.calls + found.documents + found.inbox + found.rereads + found.quarantine + found.frames;
  return [
    `${describeMeant(receipt)}; ${erased} became ${erased === 1 ? 'a tombstone' : 'tombstones'} now.`,
    ...describeUnseen(receipt),
    ...describeHeld(held),
    `Bodies of ${purged.inbox} deliveries, ${purged.quarantine} quarantined records, ${purged.rereads} rereads and ${purged.frames} frames are gone.`,
    `A search of the store afterwards found ${left}.`,
    ...found.warehouses.map(
      ({ name, erased: gone, rows = 0 }) =>
        `${name}: has ${countOf(gone ?? 0, 'tombstone')}; a search found ${countOf(rows ?? 0, 'row')}.`,
    ),
    ...(found.heldTexts > 0 ? [`A legal hold keeps ${found.heldTexts} records or frames that belong to no call.`] : []),
    ...(sealed > 0 ? [`${sealed} sealed records in quarantine cannot be searched: replay or drop them.`] : []),
    ...copies.map(({ of, until, why }) => `${of}: ${why}${until === null ? '' : `; until ${until}`}.`),
    ...(proof === undefined ? [] : [`Receipt ${proof.receipt_id} is signed: callsync verdicts verify checks it.`]),
  ].join('\n');
};
