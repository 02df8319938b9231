/**
 * Questions of the cookbook and searches on PostgreSQL, beside the same questions over tables as dlt makes them. Prints the
 * time of each question, and how many times as long it takes here. About 10 minutes.
 * The tables of dlt are filled from ours, with the columns, types and the only indexes of dlt 1.31. Both answer alike, or
 * the bench says so. Every day has a verdict.
 * Why dlt can be faster: it has a column for each metadata key, where callsync has a row and a join. Its ids have 14
 * characters instead of 36, which shortens sorts. Its utterances are without their words: 85 MB beside 213 MB for 50,000
 * calls. Its words are rows, so a count of words reads 454 MB, and callsync has the count.
 * Its tags are asked by count(DISTINCT), as analysts do. The cookbook makes rows distinct first: that takes a third less of
 * the processor, and would in the tables of dlt too.
 * Options: --calls N, --utterances N, --rounds N, --json FILE.
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { analyticsConfigSchema } from '../schemas/config/analytics.ts';
import { simulatorOptionsSchema } from '../schemas/simulator.ts';
import { flattenCall } from '../src/calls/flatten.ts';
import { cookbook } from '../src/marts/cookbook.ts';
import { martSettings } from '../src/marts/mart.ts';
import { renderViews } from '../src/marts/render-views.ts';
import { generateContent } from '../src/simulator/calls/generate-call.ts';
import { callIdOf } from '../src/simulator/calls/random.ts';
import { demoAnalytics } from '../src/simulator/demo/simulator-process.ts';
import { postgresWarehouseSchema } from '../src/warehouse/postgres/config.ts';
import { postgres } from '../src/warehouse/postgres/index.ts';
import { createPostgresWarehouse } from '../src/warehouse/postgres/warehouse.ts';
import { type CallLoad, requireFrom } from '../src/warehouse/warehouse.ts';
import { peerQueries, peerTables, searchedWords } from './cookbook/peer-tables.ts';
import { createDatabase } from './load/create-database.ts';
import { note, openServers } from './load/open-servers.ts';
import { median, round2 } from './webhook/processes.ts';

const { values: flags } = parseArgs({
  options: {
    calls: { type: 'string', default: '50000' },
    utterances: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '9' },
    json: { type: 'string' },
  },
});
/** Quick questions are asked more often: of 25 ms, nine answers have medians a tenth apart. */
const leastMs = 5_000;
const batch = 500;
const firstMs = Date.UTC(2025, 0, 6);
const gapMs = 600_000;
const config = postgresWarehouseSchema.parse({ type: 'postgres' });
const settings = simulatorOptionsSchema.parse({ calls: { utterances: Number(flags.utterances), words: 8 } });

const makeCall = (index: number): CallLoad => {
  const callId = callIdOf(settings.seed, index);
  const at = firstMs + index * gapMs;
  const content = generateContent(settings, index, at, false);
  const status = index % 10 === 0 ? 'void' : 'qualified';
  const document = { unique_id: callId, timestamp: new Date(at).toISOString(), ...content, status };
  const flat = flattenCall({ callId, document, firstSeenAt: null, changedAt: null, sourceDeletedAt: null });
  const { callTimestamp, rows } = flat;
  return { callId, revision: 1, callTimestamp, flatten: () => rows, partitions: [], changes: [] };
};

/** A verdict for each day, because the marts read them. */
const proofOf = (calls: number): readonly string[] => {
  const day = `to_timestamp(${firstMs / 1000}) + n * interval '1 day'`;
  return [
    `INSERT INTO calls.sync_state (warehouse, proven_axis, pending, ledger_epoch, heartbeat_at) VALUES ('bench', 'call', 0, 1, now())`,
    `INSERT INTO calls.verdicts (verdict_id, axis, window_from, window_to, level, warehouse_level, calls_listed, calls_found, missing, different,
            healed, outcome, compared_at, ledger_epoch, digest)
     SELECT n, 'call', ${day}, ${day} + interval '1 day', 'records', 'rows', 144, 144, 0, 0, 0, 'proven', now(), 1, n::text
       FROM generate_series(0, ${Math.ceil((calls * gapMs) / 86_400_000)}) n`,
  ];
};

const servers = await openServers();
const closers: (() => Promise<unknown>)[] = [() => servers.close()];
try {
  const calls = Number(flags.calls);
  const database = await createDatabase(servers.postgresUrl, 'cookbook');
  const warehouse = createPostgresWarehouse({ name: 'bench', url: database.url, config });
  closers.push(() => warehouse.close());
  await warehouse.migrate();
  note(`Loading ${calls} calls …`);
  for (let start = 0; start < calls; start += batch)
    await warehouse.load({
      loadId: `bench-${start}`,
      epoch: 1,
      flattenVersion: 1,
      origin: 'bench',
      calls: Array.from({ length: Math.min(batch, calls - start) }, (_, at) => makeCall(start + at)),
      tombstones: [],
      logs: {},
      keyOf: (id) => id,
    });
  await requireFrom(warehouse, 'search').create();
  const place = postgres.place(config);
  const views = renderViews(place, martSettings(analyticsConfigSchema.parse(demoAnalytics)));
  await requireFrom(warehouse, 'marts').ensure(place.marts, views);
  const db = new pg.Client({ connectionString: database.url });
  closers.push(() => db.end());
  await db.connect();
  for (const statement of proofOf(calls)) await db.query(statement);
  note('Filling the tables of dlt …');
  for (const statement of peerTables) await db.query(statement);
  await db.query('VACUUM (ANALYZE)');

  const time = async <T>(work: () => Promise<T>): Promise<{ ms: number; answer: T }> => {
    const begun = performance.now();
    const answer = await work();
    return { ms: performance.now() - begun, answer };
  };
  const ask = (sql: string) => async () => (await db.query(sql)).rows;
  const find = (text: string) => async () =>
    (await requireFrom(warehouse, 'search').find({ text, limit: 20 })).calls as never;
  const ours = new Map(cookbook.map(({ title, sql }) => [title, ask(sql.replaceAll('{marts}', place.marts))]));
  for (const { title, own } of peerQueries)
    if (own !== undefined) ours.set(title, ask(own.replaceAll('{marts}', place.marts)));
  for (const [title, word] of Object.entries(searchedWords)) ours.set(title, find(word));

  const results: { kind: string; title: string; ms: number; peer_ms: number; ratio: number }[] = [];
  for (const { title, kind, sql, isSame } of peerQueries) {
    const own = ours.get(title);
    if (own === undefined) throw new Error(`Neither the cookbook nor the bench has the question: ${title}`);
    const [mine, theirs]: [number[], number[]] = [[], []];
    for (let round = 0, spent = 0; round <= Number(flags.rounds) || spent < leastMs; round += 1) {
      const [left, right] = [await time(own), await time(ask(sql))];
      spent += left.ms + right.ms;
      if (round === 0) {
        const shown = [left.answer, right.answer].map((rows) => isSame(rows as never));
        if (shown[0] !== shown[1]) note(`The answers differ: ${title}\n  ours ${shown[0]}\n  dlt  ${shown[1]}`);
        continue;
      }
      mine.push(left.ms);
      theirs.push(right.ms);
    }
    const [ms, peerMs] = [median(mine), median(theirs)];
    results.push({ kind, title, ms: round2(ms), peer_ms: round2(peerMs), ratio: round2(ms / peerMs) });
    note(
      `${(ms / peerMs).toFixed(2).padStart(6)} x  ${ms.toFixed(0).padStart(6)} ms  dlt ${peerMs.toFixed(0).padStart(6)} ms  ${kind}: ${title}`,
    );
  }
  const worst = (kind: string) => Math.max(...results.filter((one) => one.kind === kind).map(({ ratio }) => ratio));
  const summary = {
    ratio_calls: worst('calls'),
    ratio_tags: worst('tags'),
    ratio_words: worst('words'),
    ratio_search: worst('search'),
    ratio_more: worst('more'),
  };
  console.log(JSON.stringify(summary));
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify({ ...summary, results }, null, 2)}\n`);
} finally {
  for (const close of closers.reverse()) await close();
}
