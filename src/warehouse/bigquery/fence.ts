/** The row of `fence`: whether rows of an earlier ledger, under dates that this one never sent, may still be there. */
import type { Connection } from './client.ts';
import type { WireRow } from './decode.ts';
import type { Queries } from './queries.ts';
import { failTo, retry } from './retry.ts';

const askAgainMs = 3_600_000;

/** Parameter @epoch. Loads of earlier epochs claim nothing any more, so no such row can appear afterwards. */
export const clearFenceQuery = (dataset: string): string =>
  `UPDATE \`${dataset}.fence\` AS f SET earlier_epochs = FALSE
WHERE f.ledger_epoch = @epoch AND f.earlier_epochs
  AND NOT EXISTS (SELECT 1 FROM \`${dataset}.calls\` AS c WHERE c.ledger_epoch < @epoch)`;

export const createFence = ({ config, rest, pause, clock }: Connection, queries: Queries) => {
  let last: { readonly epoch: number; readonly unknown: boolean; readonly askedAt: number } | undefined;

  const read = async (epoch: number): Promise<boolean> => {
    // Neither a job nor a charge. Columns come in the order of the schema.
    const path = `/datasets/${config.dataset}/tables/fence/data`;
    const { rows = [] } = await retry(pause, () => rest<{ rows?: readonly WireRow[] }>({ path })).catch(
      failTo('read the fence'),
    );
    return rows.some(
      ({ f: [ledgerEpoch, earlierEpochs] }) => Number(ledgerEpoch?.v) !== epoch || String(earlierEpochs?.v) === 'true',
    );
  };
  return {
    /** Cached; while the answer is yes, the warehouse is asked again every hour, because loads replace those rows. */
    async hasUnknownPartitions(epoch: number) {
      if (last?.epoch === epoch && (!last.unknown || clock() < last.askedAt + askAgainMs)) return last.unknown;
      let unknown = await read(epoch);
      if (unknown) {
        await queries.run({
          sql: clearFenceQuery(`${config.project}.${config.dataset}`),
          parameters: { epoch },
          types: { epoch: 'INT64' },
        });
        unknown = await read(epoch);
      }
      last = { epoch, unknown, askedAt: clock() };
      return unknown;
    },
  };
};
