/**
 * A range part of re-reading on a virtual clock. Calls and silent edits are made up; histogram, horizon and plan are
 * the code of production. Nobody sends webhooks, so each edit is found by re-reading or not at all.
 */

import { expect, test } from 'vitest';
import { planningInterval } from '../../../schemas/orchestration.ts';
import { learnHorizon, planParts } from '../../../src/pipeline/read/reread-windows.ts';
import { randomStream } from '../../../src/simulator/calls/random.ts';
import { bucketOf, type CoveredBand, type readLateChanges } from '../../../src/store/ledger/late-changes.ts';

const day = 86_400_000_000;

interface LateEditsOptions {
  readonly days: number;
  readonly callsPerDay: number;
  /** Share of calls that change once after they were first seen. */
  readonly editShare: number;
  /** Age at the edit for a random number in [0, 1), in microseconds. */
  readonly ageOf: (random: number, callAt: number) => number;
  /** Fixed horizon in microseconds; undefined = learned. */
  readonly horizon?: number;
  readonly sample: number;
}

const pageSize = 200;

interface Edit {
  readonly callAt: number;
  readonly at: number;
  foundAt: number | undefined;
}

/** Requests for one light listing of so many calls; reading cuts it at whole pages. */
const listingRequests = (calls: number): number => Math.max(1, Math.ceil(calls / pageSize));

const makeEdits = ({ days, callsPerDay, editShare, ageOf }: LateEditsOptions, start: number): Edit[] => {
  const random = randomStream(1);
  const edits: Edit[] = [];
  for (let index = 0; index < Math.floor((120 + days) * callsPerDay); index += 1) {
    const callAt = start - 120 * day + (index * day) / callsPerDay;
    const [chance, age] = [random(), random()];
    const at = callAt + ageOf(age, callAt);
    if (chance < editShare && at >= start) edits.push({ callAt, at, foundAt: undefined });
  }
  return edits;
};

const runLateEdits = (options: LateEditsOptions) => {
  const start = 20_000 * day;
  const end = start + options.days * day;
  const rules = { horizon: options.horizon, share: 0.999, delay: day, maxHorizon: 90 * day, sample: options.sample };
  const spacing = day / options.callsPerDay;
  const edits = makeEdits(options, start);
  const histogram = new Map<number, Awaited<ReturnType<typeof readLateChanges>>[number]>();
  const states = new Map<string, CoveredBand>();
  let horizonDays = 0;
  let settled = 0;
  const open = new Set(edits);
  for (let now = start; now < end; now += planningInterval(rules.delay)) {
    const horizon = learnHorizon([...histogram.values()], rules);
    horizonDays = (horizon.bands.at(-1)?.to ?? 0) / day;
    const plan = planParts(horizon, [...states.values()], rules, { now, trackedSince: start });
    let spent = 0;
    for (const part of plan.parts) {
      spent += listingRequests(Math.max(0, Math.floor((Math.min(part.to, now) - part.from) / spacing)));
      for (const edit of open) {
        if (edit.at > now || edit.callAt < part.from || edit.callAt >= part.to) continue;
        open.delete(edit);
        edit.foundAt = now;
        spent += 1;
        if (part.since === null) continue;
        const bucket = bucketOf((Math.max(part.since, edit.callAt) + now) / 2 - edit.callAt);
        const known = histogram.get(bucket) ?? { bucket, changes: 0, weight: 0 };
        histogram.set(bucket, { bucket, changes: known.changes + 1, weight: known.weight + part.weight });
      }
    }
    for (const { band, kind } of plan.covers) states.set(`${kind}:${band}`, { band, kind, coveredAt: now });
    if (now >= end - (end - start) / 4) settled += spent;
  }
  // Edits of the last delay could not have been found in time yet.
  const judged = edits.filter((edit) => edit.at < end - rules.delay);
  const caughtWithin = (delay: number): number =>
    judged.filter(({ at, foundAt }) => foundAt !== undefined && foundAt - at <= delay).length / judged.length;
  return {
    /** Found within the delay of the edit, and found at all, as shares of the edits. */
    caughtInTime: caughtWithin(rules.delay),
    caught: caughtWithin(Number.POSITIVE_INFINITY),
    /** Requests a day in the last quarter, once the horizon has settled. */
    settledRequestsPerDay: settled / (options.days / 4),
    /** Horizon in days at the end. */
    horizonDays,
  };
};

type Ages = LateEditsOptions['ageOf'];
/** Ages as the simulator plans them: exponential, cut at the greatest age. */
const exponential: Ages = (random) => Math.min(1, -Math.log(1 - random) / 5) * day;

/** How many late edits the learned horizon catches, at how many requests, beside a fixed one of 7 days. */
type Size = Pick<LateEditsOptions, 'days' | 'callsPerDay'>;

const compare = (size: Size, ageOf: Ages) => {
  const learned = runLateEdits({ ...size, editShare: 0.05, ageOf, sample: 0.01 });
  const fixed = runLateEdits({ ...size, editShare: 0.05, ageOf, sample: 0, horizon: 7 * day });
  return { learned, fixed };
};

export const describeLateEdits = (size: Size): void => {
  test.each<[string, Ages]>([
    ['exponential up to 10 days', (...of) => 10 * exponential(...of)],
    ['uniform up to 10 days', (random) => 10 * random * day],
  ])('late edits: %s are caught by the learned horizon and not by 7 days', (_, ageOf) => {
    const { learned, fixed } = compare(size, ageOf);
    expect(learned.caughtInTime).toBeGreaterThanOrEqual(0.999);
    expect(fixed.caughtInTime).toBeLessThan(0.99);
    expect(learned.horizonDays).toBeLessThan(11);
    expect(learned.settledRequestsPerDay).toBeLessThan(2 * fixed.settledRequestsPerDay);
  });

  test('late edits within a day of the call cost fewer requests than 7 days', () => {
    const { learned, fixed } = compare(size, exponential);
    expect(learned.caughtInTime).toBeGreaterThanOrEqual(0.999);
    expect(learned.settledRequestsPerDay).toBeLessThan(fixed.settledRequestsPerDay);
  });

  test('late edits that begin to come later are found by the sample, which the horizon alone would miss', () => {
    const change = 20_000 * day + 10 * day;
    const ageOf: Ages = (random, callAt) => (callAt >= change && random > 0.7 ? 20 + random : random / 2) * day;
    const options = { ...size, days: 120, editShare: 0.05, ageOf };
    const sampled = runLateEdits({ ...options, sample: 0.01 });
    const blind = runLateEdits({ ...options, sample: 0 });
    expect(sampled.horizonDays).toBeGreaterThan(20);
    expect(sampled.caught).toBeGreaterThan(0.999);
    expect(blind.horizonDays).toBeLessThan(10);
  });
};
