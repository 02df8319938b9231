/** The receipt of an erasure in sentences. */
import type { ErasureReceipt } from '../pipeline/erase/receipt.ts';

const describeHeld = (held: number): string[] =>
  held === 0 ? [] : [`${held} of them are under a legal hold and stay: callsync privacy hold list.`];

export const describeErasure = (receipt: ErasureReceipt): string => {
  const { dryRun, calls, erased, held, purged, sealed, found, copies, proof } = receipt;
  if (dryRun || purged === undefined || found === undefined)
    return [`${calls} calls are meant. Nothing was erased; --yes erases them for good.`, ...describeHeld(held)].join(
      '\n',
    );
  const left =
    found.calls + found.documents + found.inbox + found.rereads + found.quarantine + found.frames + found.aliases;
  return [
    `${calls} calls are meant; ${erased} became tombstones now.`,
    ...describeHeld(held),
    `Bodies of ${purged.inbox} deliveries, ${purged.quarantine} quarantined records, ${purged.rereads} rereads, ${purged.frames} frames and ${purged.aliases} aliases of tokens are gone.`,
    `A search of the store afterwards found ${left}.`,
    ...found.warehouses.map(({ name, erased: gone, waiting }) =>
      gone === null
        ? `${name}: did not answer; its rows go with its next load.`
        : `${name}: ${gone} erased${waiting > 0 ? `, ${waiting} with its next load` : ''}.`,
    ),
    ...(sealed > 0 ? [`${sealed} sealed records in quarantine cannot be searched: replay or drop them.`] : []),
    ...copies.map(({ of, until, why }) => `${of}: ${why}${until === null ? '' : `; until ${until}`}.`),
    ...(proof === undefined ? [] : [`Receipt ${proof.receipt_id} is signed: callsync verdicts verify checks it.`]),
  ].join('\n');
};
