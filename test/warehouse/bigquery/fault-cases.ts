/** Campaigns of faults against the strict stand-in: short in the suite, long in test/campaigns. */
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { countRows } from '../../../src/warehouse/content-hash.ts';
import { startProgram } from '../../support/program.ts';
import { collect } from '../../support/rows.ts';
import { strictPoints, type Trouble } from '../../support/strict-bigquery.ts';
import { children, makeBatch, makeCall } from '../batches.ts';
import { orphansWithoutExpiry, type StrictSetup, strictForTest, useStrict } from './strict-warehouse.ts';

const conflict: Trouble = {
  kind: 'job-error',
  reason: 'invalidQuery',
  message: 'Could not serialize access to table p:d.calls due to concurrent update',
};

/** Each of the calls `c-0` … has one row, of that revision, and the children of that revision. */
const expectExactly = async (setup: StrictSetup, count: number, revision: number): Promise<void> => {
  const callIds = Array.from({ length: count }, (_, index) => `c-${index}`);
  const guards = await collect(setup.warehouse.proof.listGuards({ callIds }));
  expect(guards.map((guard) => guard.callId)).toEqual([...callIds].sort());
  for (const guard of guards) {
    expect(guard.revision).toBe(revision);
    expect(guard.childRows).toMatchObject({ utterances: 1 + (revision % 3), tags: 1, contacts: 1 });
  }
  const counts = await countRows(setup.warehouse);
  expect(counts).toMatchObject({ calls: count, changes: count, utterances: count * (1 + (revision % 3)) });
  expect(Object.keys(counts)).toEqual(expect.arrayContaining(children.filter((name) => name !== 'documents')));
};

const callsOf = (count: number, revision: number) =>
  Array.from({ length: count }, (_, index) =>
    makeCall({
      callId: `c-${index}`,
      revision,
      timestamp: `2026-01-0${1 + ((index + revision) % 3)}T08:00:00Z`,
      utterances: 1 + (revision % 3),
      partitions: revision === 1 ? [] : ['2026-01-01', '2026-01-02', '2026-01-03'],
    }),
  );

/** Every load loses the answer of its load job, of its script job or of both, until `lost` have been lost. */
export const describeLostResponses = ({ lost }: { readonly lost: number }): void => {
  const title = `of ${lost} lost responses, nothing is lost or written twice, and no job is run twice`;
  test(title, { timeout: 900_000 }, async () => {
    const setup = await strictForTest();
    const { strict, warehouse } = setup;
    let left = lost;
    let revision = 0;
    const lose = (isRequest: boolean): Trouble => {
      left -= 1;
      return { kind: isRequest ? 'lost-request' : 'lost-response' };
    };
    while (left > 0) {
      revision += 1;
      strict.troubles.load.push(lose(revision % 5 === 0));
      if (left > 0) strict.troubles.script.push(lose(revision % 7 === 0));
      const loaded = await warehouse.load(makeBatch({ calls: callsOf(5, revision) }));
      expect(loaded).toMatchObject({ changed: 5, unchanged: 0 });
    }
    await expectExactly(setup, 5, revision);
    expect(strict.accepted).toMatchObject({ load: revision, script: revision });
    expect(orphansWithoutExpiry(strict)).toEqual([]);
  });
};

export const describeConflicts = ({ inARow }: { readonly inARow: number }): void => {
  test(`a load commits after ${inARow} conflicts in a row, each attempt under an id of its own`, async () => {
    const setup = await strictForTest();
    const { strict } = setup;
    const warehouse = setup.open({ pause: () => new Promise((done) => setTimeout(done, 1)) });
    strict.troubles.script.push(...Array<Trouble>(inARow).fill(conflict));
    expect(await warehouse.load(makeBatch({ calls: callsOf(5, 1) }))).toMatchObject({ changed: 5, unchanged: 0 });
    expect(strict.accepted).toMatchObject({ load: 1, script: inARow + 1 });
    await expectExactly(setup, 5, 1);
    expect([...strict.tables.keys()].filter((name) => name.includes('staging'))).toEqual([]);
  });
};

/** A process that loads is killed at each point, and another client does the same load again. Needs dist/. */
export const describeKills = (rounds: number, points: readonly (typeof strictPoints)[number][] = strictPoints) => {
  describe(`killed ${rounds} × at each of ${points.length} points`, () => {
    const setup = useStrict();
    let revision = 0;

    test.each(points)('%s', { timeout: 900_000 }, async (point) => {
      const { strict } = setup;
      for (let round = 0; round < rounds; round += 1) {
        revision += 1;
        const before = { ...strict.accepted };
        const [calls, loadId] = [callsOf(4, revision), `kill_${revision}_${Date.now()}`];
        const task = { config: setup.config, loadId, revision };
        const input = JSON.stringify({ ...task, calls: calls.map((call) => ({ ...call, rows: call.flatten() })) });
        const { child, ended } = startProgram([], { entry: resolve(import.meta.dirname, 'load-once.mjs'), input });
        let killed = false;
        strict.onPoint(async (reached) => {
          if (reached !== point || killed) return;
          killed = true;
          child.kill('SIGKILL');
          await ended;
        });
        await ended;
        expect(killed).toBe(true);
        strict.onPoint(() => undefined);
        const { changed, unchanged } = await setup.open().load(makeBatch({ loadId, calls }));
        // Where the first process was killed after its commit, nothing is left to change.
        expect(changed + unchanged).toBe(4);
        // At most one job more: where the first process was killed before its job was accepted, none.
        expect(strict.accepted.load - before.load).toBeLessThanOrEqual(2);
      }
      await expectExactly(setup, 4, revision);
      expect(orphansWithoutExpiry(strict)).toEqual([]);
    });
  });
};
