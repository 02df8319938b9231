/**
 * Whatever the list does, a call that it showed all the time is in the ledger. Otherwise the reading is incomplete and
 * names a window with the call. Never "complete" and lost.
 */
import { describe, expect, test } from 'vitest';
import type { Range } from '../../../schemas/orchestration.ts';
import { CallsyncError, transient } from '../../../src/lib/errors.ts';
import type { ReadDeps } from '../../../src/pipeline/deps.ts';
import { readRangePart } from '../../../src/pipeline/read/read-range-part.ts';
import { hash32 } from '../../../src/simulator/calls/random.ts';
import { startSimulator } from '../../../src/simulator/start-simulator.ts';
import { openProblems, uncoveredRanges } from '../../../src/store/windows/windows.ts';
import { simulatedSource } from '../../source/simulated.ts';
import { type Pipeline, usePipeline } from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';
import { type DialectCase, makeDialectCase } from './dialect-case.ts';

type Simulator = Awaited<ReturnType<typeof startSimulator>>;

const hourMicros = 3_600_000_000;
/** Reading ends this long before now; replicas and counts are late by less. */
const settleMs = 120_000;
/** Printed times differ from true ones by up to 5 s; problems may name either. */
const slackMicros = 6_000_000;

interface Listed {
  readonly at: number;
  /** As the record shows it, read as UTC; undefined where the record has no such field. */
  readonly printed: number | undefined;
}

interface CaseOutcome {
  readonly expected: number;
  readonly lost: number;
  /** Lost calls that no named window holds. */
  readonly unnamed: number;
  readonly complete: boolean;
  readonly problems: readonly string[];
  /** Why the reading ended before the range did. */
  readonly stopped: string | undefined;
  readonly requests: number;
}

/** Calls that the list shows now, also its late replica, with their times on the axis. */
const listedCalls = async (simulator: Simulator, axis: 'timestamp' | 'qualified', lateMs = 0) => {
  const listed = new Map<string, Listed>();
  for await (const entry of simulator.truth()) {
    if (!entry.visibleInList || Date.parse(entry.qualified) > Date.now() - lateMs) continue;
    const shown = entry.document?.[axis];
    listed.set(entry.callId, {
      at: Date.parse(entry[axis]) * 1000,
      printed: typeof shown === 'string' ? Date.parse(shown.endsWith('Z') ? shown : `${shown}Z`) * 1000 : undefined,
    });
  }
  return listed;
};

/** Changes calls between pages, by the seed; gives up on a reading that asks for far too many. */
const disturb = (simulator: Simulator, { seed, changes, simulator: { quirks } }: DialectCase, most: number) => {
  const stop = new AbortController();
  // A replica that is late disagrees until it is there: some hundred requests at a real service's pace.
  const isSteadyAt = Date.now() + (quirks?.replicaLateSeconds ?? 0) * 1000;
  let pages = 0;
  const due = (share: number, salt: number): boolean => hash32(seed, pages, salt) / 0x1_0000_0000 < share;
  simulator.onPage(async () => {
    pages += 1;
    if (pages > most && Date.now() > isSteadyAt)
      stop.abort(transient('TOO_MANY_REQUESTS', 'The reading does not end.'));
    if (pages > 400) return;
    const { from, to } = simulator.range;
    const span = Date.parse(to) - Date.parse(from);
    const timestamp = new Date(Date.parse(from) + (hash32(seed, pages, 4) / 0x1_0000_0000) * span).toISOString();
    if (due(changes.insert, 1)) await simulator.insert({ timestamp, status: 'qualified' });
    if (due(changes.remove, 2)) await simulator.delete({ random: 1, seed: pages });
    if (due(changes.edit, 3)) await simulator.edit({ random: 1, seed: pages, kinds: ['metadata'] });
  });
  return stop.signal;
};

/** Range part after part until all is read, as the backfill does; a failure that would be retried is, a few times. */
const readWhole = async (deps: ReadDeps, one: DialectCase, range: Range, signal: AbortSignal) => {
  let problems = 0;
  let failures = 0;
  let attempt = 1;
  let windowLength = one.windowLength * 1000;
  for (let rest: Range | null = range; rest !== null; ) {
    try {
      const input = { axis: one.axis, range: rest, direction: one.direction, origin: 'backfill:case', force: true };
      const limits = { maxCalls: one.maxCalls, maxSeconds: 600, windowLength };
      const options = { signal, attempt, onProgress: () => undefined };
      const part = await readRangePart(deps, { ...input, ...limits }, options);
      attempt = 1;
      problems += part.totals.problems;
      windowLength = part.windowLength;
      rest = part.rest;
    } catch (error) {
      if (!(error instanceof CallsyncError)) throw error;
      failures += 1;
      attempt += 1;
      if (error.kind === 'terminal' || failures > 4 || signal.aborted)
        return { problems, stopped: `${error.kind} ${error.code}` };
    }
  }
  return { problems, stopped: undefined };
};

const within = ({ at, printed }: Listed, { from, to }: Range): boolean =>
  [at, printed].some((time) => time !== undefined && time >= from - slackMicros && time < to + slackMicros);

const runDialectCase = async (pipeline: Pipeline, one: DialectCase): Promise<CaseOutcome> => {
  const axis = one.axis === 'qualified' ? 'qualified' : 'timestamp';
  const simulator = await startSimulator(one.simulator);
  const source = await simulatedSource(simulator, one.source);
  try {
    const lateMs = (one.simulator.quirks?.replicaLateSeconds ?? 0) * 1000;
    const before = await listedCalls(simulator, axis, lateMs);
    const signal = disturb(simulator, one, 5_000 + 20 * before.size);
    const deps: ReadDeps = {
      ...pipeline.deps,
      targets: [],
      source,
      windows: { initial: hourMicros, min: 60_000_000, max: 1_000 * hourMicros, targetCalls: one.targetCalls },
    };
    const range = { from: (Date.now() - 200 * 3_600_000) * 1000, to: (Date.now() - settleMs) * 1000 };
    const { problems, stopped } = await readWhole(deps, one, range, signal);
    const after = await listedCalls(simulator, axis);
    const held = new Set(await column(pipeline.store, 'SELECT call_id FROM ledger'));
    // A list that cuts by local times has not come to the newest ones yet.
    const ahead = Math.max(0, one.simulator.dialectOverrides?.boundZoneMinutes ?? 0) * 60_000_000;
    const expected = [...before].filter(
      ([id, { at }]) => after.get(id)?.at === at && at >= range.from && at + ahead < range.to - slackMicros,
    );
    const lost = expected.filter(([id]) => !held.has(id));
    const open = (await openProblems(pipeline.store)).filter((problem) => problem.axis === axis);
    const named: readonly Range[] = [...open, ...(await uncoveredRanges(pipeline.store, { axis, ...range }))];
    return {
      expected: expected.length,
      lost: lost.length,
      unnamed: lost.filter(([, listed]) => !named.some((window) => within(listed, window))).length,
      complete: problems === 0 && stopped === undefined,
      problems: [...new Set(open.map(({ problem }) => problem.replace(/:.*/s, '')))],
      stopped,
      requests: source.list.counts.requests,
    };
  } finally {
    await source.close();
    await simulator.stop();
    await pipeline.clear();
  }
};

/** The fault that breaks the promise; undefined if the promise holds. */
const violationOf = (outcome: CaseOutcome): string | undefined => {
  const { lost, unnamed, complete, stopped, expected } = outcome;
  if (stopped?.startsWith('transient')) return `stopped for good by ${stopped}`;
  if (stopped !== undefined) return undefined;
  if (lost > 0 && complete) return `complete, and ${lost} of ${expected} lost`;
  if (unnamed > 0) return `${unnamed} of ${lost} lost calls lie in no named window`;
  return undefined;
};

/** Reads one random list a seed; prints every violation with its seed at once, and the counts at the end. */
export const describeNeverLost = (seeds: readonly number[]): void => {
  describe('never complete and lost', () => {
    const pipeline = usePipeline();

    test(
      `${seeds.length} random lists`,
      async () => {
        const broken: string[] = [];
        const counts = { complete: 0, incomplete: 0, stopped: 0 };
        for (const seed of seeds) {
          const one = makeDialectCase(seed);
          const outcome = await runDialectCase(pipeline, one);
          counts[outcome.stopped === undefined ? (outcome.complete ? 'complete' : 'incomplete') : 'stopped'] += 1;
          const violation = violationOf(outcome);
          if (violation === undefined) continue;
          broken.push(`seed ${seed} (${one.traits.join(', ')}): ${violation}`);
          process.stdout.write(`${broken.at(-1)} ${JSON.stringify(outcome)}\n`);
        }
        process.stdout.write(`${JSON.stringify({ seeds: seeds.length, broken: broken.length, ...counts })}\n`);
        expect(broken).toEqual([]);
      },
      seeds.length * 60_000,
    );
  });
};
