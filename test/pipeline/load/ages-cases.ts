/** A year of simulated days: calls come, old ones are read and delivered again, and what is too old goes. */

import { expect } from 'vitest';
import { createAges } from '../../../src/calls/age.ts';
import { JsonRecord } from '../../../src/lib/json-record.ts';
import type { IngestDeps, WarehouseTarget } from '../../../src/pipeline/deps.ts';
import { applyAges } from '../../../src/pipeline/load/apply-ages.ts';
import { readRows } from '../../../src/store/ledger/ledger.ts';
import { deliver, type Pipeline } from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';

const day = 86_400_000;
const begin = Date.UTC(2024, 0, 1);
const limits = { words: 30 * day, transcripts: 90 * day, freeFields: 180 * day, calls: 270 * day };

const recordOf = (at: number, call: number | string) => ({
  unique_id: `call-${at}-${call}`,
  timestamp: new Date(begin + at * day).toISOString(),
  status: 'qualified',
  in: { label: null, data: '33639981234', type: 'PHONE' },
  metadata: { ANI: '33639981234' },
  transcript_json: {
    callData: [{ from: 'in', content: 'bonjour', words: [{ value: 'bonjour', start: 0, length: 1, score: 1 }] }],
  },
});

/** Then nothing is older than its class allows, and everything younger is there. @param input.step days between two runs. */
export const keepForAYear = async (
  pipeline: Pipeline,
  targets: readonly WarehouseTarget[],
  input: { readonly step: number; readonly callsPerDay: number },
) => {
  let today = 0;
  const perDay = [...Array(input.callsPerDay).keys()];
  const ages = createAges(limits, () => begin + today * day);
  const deps: IngestDeps = { ...pipeline.deps, targets, ages, sanitize: (observation) => ages.age(observation) };
  const read = async (source: 'poll' | 'import', at: number, unseen: readonly string[]): Promise<void> => {
    const observations = [...perDay, ...unseen].map((call) => {
      const fields = recordOf(at, call);
      return {
        callId: fields.unique_id,
        source,
        observedAt: (begin + today * day) * 1_000,
        fields: new JsonRecord(fields),
      };
    });
    await pipeline.observe(observations, deps);
  };
  for (today = 0; today <= 365; today += input.step) {
    await read('poll', today, []);
    // A backfill, a re-read and a delivery of earlier days, some of them beyond every limit.
    for (const ago of [25, 60, 120, 200, 300]) {
      const at = today - Math.round(ago / input.step) * input.step;
      if (at < 0) continue;
      // Of what is beyond every limit also calls that nobody has seen before.
      const isBeyond = (today - at) * day > limits.calls;
      await read(ago % 2 === 0 ? 'poll' : 'import', at, isBeyond ? ['unseen'] : []);
      const delivered = [recordOf(at, 0), ...(isBeyond ? [recordOf(at, 'delivered')] : [])];
      const deliveries = delivered.map((record) => ({ body: { ...record, round: today } }));
      await deliver(pipeline.store, deliveries);
    }
    await pipeline.merge(deps);
    await applyAges(deps, ages, { dryRun: false });
  }
  today -= input.step;
  for (const target of targets) await pipeline.drain(target);

  const days = Array.from({ length: Math.floor(365 / input.step) + 1 }, (_, index) => index * input.step);
  const young = (limit: number): number => days.filter((at) => (today - at) * day <= limit).length * input.callsPerDay;
  const ids = days.flatMap((at) => perDay.map((call) => recordOf(at, call).unique_id));
  const documents = [...(await readRows(pipeline.store, ids)).values()].filter(({ tombstone }) => !tombstone);
  const holding = (text: string): number =>
    documents.filter(({ document }) => JSON.stringify(document)?.includes(text)).length;
  const ledger = { words: holding('"words"'), transcripts: holding('bonjour'), freeFields: holding('"metadata"') };
  const expected = Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, young(limit)]));
  process.stdout.write(`${JSON.stringify({ expected, ledger })}\n`);
  expect({ ...ledger, calls: documents.length }).toEqual(expected);
  for (const { warehouse } of targets) {
    const count = async (table: string, of = 'DISTINCT call_id'): Promise<number> =>
      Number((await column(warehouse, `SELECT count(${of}) AS n FROM ${table}`))[0]);
    const [words, transcripts, freeFields] = [await count('words'), await count('utterances'), await count('metadata')];
    const held = { words, transcripts, freeFields, calls: await count('calls', '*') };
    expect({ [warehouse.name]: held }).toEqual({ [warehouse.name]: expected });
  }
  // Bodies of deliveries of calls that are older than the least limit.
  const oldBodies = `SELECT FROM inbox WHERE (convert_from(body, 'UTF8')::jsonb->>'timestamp')::timestamptz < $1`;
  expect(await pipeline.query(oldBodies, [new Date(begin + today * day - limits.words)])).toEqual([]);
  // Nothing is left that was not checked.
  expect(await applyAges(deps, ages, { dryRun: true })).toMatchObject({ calls: 0 });
};
