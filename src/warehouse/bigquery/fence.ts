/** The row of `fence`: whether rows of an earlier ledger, under dates that this one never sent, may still be there. */
import type { Queries } from './queries.ts';

interface Fence {
  /** Cached; while the answer is yes, the warehouse is asked again every hour, because loads replace those rows. */
  hasUnknownPartitions(epoch: number): Promise<boolean>;
}

const askAgainMs = 3_600_000;

/** Parameter @epoch. Loads of earlier epochs claim nothing any more, so no such row can appear afterwards. */
export const clearFenceQuery = (dataset: string): string =>
  `UPDATE \`${dataset}.fence\` AS f SET earlier_epochs = FALSE
WHERE f.ledger_epoch = @epoch AND f.earlier_epochs
  AND NOT EXISTS (SELECT 1 FROM \`${dataset}.calls\` AS c WHERE c.ledger_epoch < @epoch)`;

export const createFence = (deps: {
  readonly dataset: string;
  readonly queries: Queries;
  readonly clock: () => number;
}): Fence => {
  const { dataset, queries, clock } = deps;
  let last: { readonly epoch: number; readonly unknown: boolean; readonly askedAt: number } | undefined;

  const read = async (epoch: number): Promise<boolean> => {
    const rows = await queries.run({ sql: `SELECT * FROM \`${dataset}.fence\`` });
    return rows.some((row) => row.earlier_epochs === true || row.ledger_epoch !== epoch);
  };
  return {
    async hasUnknownPartitions(epoch) {
      if (last?.epoch === epoch && (!last.unknown || clock() < last.askedAt + askAgainMs)) return last.unknown;
      let unknown = await read(epoch);
      if (unknown) {
        await queries.run({ sql: clearFenceQuery(dataset), parameters: { epoch }, types: { epoch: 'INT64' } });
        unknown = await read(epoch);
      }
      last = { epoch, unknown, askedAt: clock() };
      return unknown;
    },
  };
};
