/** Days that are made unproven on purpose: each cause is named, with the command that settles it, and after that the day is proven. */
import { beforeAll, expect, test } from 'vitest';
import { explainDay, type Reason } from '../../src/health/coverage/why.ts';
import { beat, readHealth, readProofs } from '../../src/health/read-health.ts';
import { transient } from '../../src/lib/errors.ts';
import { eraseCalls } from '../../src/store/persons/calls.ts';
import { advanceWatermark, recordSeen, recordSyncError, replaceProblems } from '../../src/store/windows/windows.ts';
import { day, useInstallation } from '../pipeline/reconcile/installation.ts';
import { withList } from '../source/simulated.ts';
import { column } from '../support/rows.ts';

const now = Date.now() * 1000;
const today = Math.floor(now / day) * day;
const dayAgo = (days: number) => ({ from: today - days * day, to: today - (days - 1) * day });
const here = useInstallation({
  seed: 12,
  calls: {
    ...{ count: 300, utterances: 3, words: 3 },
    ...{
      from: new Date((today - 20 * day) / 1000).toISOString(),
      to: new Date((today - 4 * day) / 1000).toISOString(),
    },
  },
});

const why = async (start: number, more: { skewMs?: number; workerAge?: number | null } = {}): Promise<Reason[]> => {
  const health = await readHealth(here.store, { warehouses: ['main'] });
  const readings = {
    ...{ ...health, at: health.at + (more.skewMs ?? 0), syncEvery: 60 },
    ...(more.workerAge === undefined ? {} : { workerAge: more.workerAge }),
    proofs: await readProofs(here.store, { warehouses: ['main'], days: 92 }),
  };
  const found = { day: start, now: Date.now() * 1000, readings, warehouses: ['main'], comparedAfter: 2 * day };
  return await explainDay(here.store, found);
};
const dateOf = (micros: number): string => new Date(micros / 1000).toISOString().slice(0, 10);
const asked = (start: number): string => `--from ${dateOf(start)} --to ${dateOf(start + day)}`;
const reconcile = (range: { from: number; to: number }, by = here.deps) => here.reconcile({ range, force: true }, by);
const callsOf = async ({ from, to }: { from: number; to: number }): Promise<string[]> =>
  (await column(
    here.store,
    `SELECT call_id FROM ledger WHERE call_timestamp >= to_timestamp(${from / 1e6}) AND call_timestamp < to_timestamp(${to / 1e6})
        AND NOT tombstone ORDER BY call_timestamp`,
  )) as string[];
/** The warehouse fails, or changes, by statements that stand for other people. */
const byHand = (sql: string) => here.query(sql);

beforeAll(async () => {
  await advanceWatermark(here.store, { axis: 'qualified', start: here.range.from });
  await here.backfill({ from: here.range.from, to: today });
  await here.drain();
  await reconcile({ from: here.range.from, to: today - 3 * day });
  await beat(here.store);
});

test('a proven day has no reason', async () => {
  expect(await why(dayAgo(8).from)).toEqual([]);
});

test('a day that ended a moment ago waits for late calls; a worker or a clock that is away is named', async () => {
  const { from } = dayAgo(1);
  expect(await why(from)).toMatchObject([
    {
      warehouse: 'main',
      text: expect.stringMatching(/The schedule waits for .* come late/),
      command: `callsync reconcile ${asked(from)}`,
    },
  ]);
  expect(await why(from, { workerAge: 40 })).toMatchObject([
    { text: expect.stringContaining('waits for a worker'), command: 'callsync worker' },
  ]);
  const [clock] = await why(from, { skewMs: -600_000 });
  expect(clock).toMatchObject({ text: expect.stringContaining('10 min behind'), command: 'callsync doctor' });
  expect(await why(today + 2 * day)).toMatchObject([{ text: 'The day has not begun.', command: null }]);
});

test('days before the first reading, and unread ones while the service is away', async () => {
  const before = here.range.from - 2 * day;
  expect(await why(before)).toMatchObject([
    { text: expect.stringContaining('Nobody'), command: `callsync backfill ${asked(before)}` },
  ]);
  await recordSyncError(here.store, 'SERVICE_UNREACHABLE');
  const unread = (await why(today)).at(-1);
  expect(unread).toMatchObject({
    warehouse: null,
    command: 'callsync doctor',
    text: expect.stringContaining('(SERVICE_UNREACHABLE)'),
  });
  expect(unread?.since).toBeGreaterThan(now - day);
  await recordSeen(here.store, now);
  // Of a day that has not ended, no command can prove the rest.
  expect((await why(today)).at(-1)).toMatchObject({ text: expect.stringContaining('not ended'), command: null });
  await here.backfill({ from: today, to: now });
  expect((await why(today)).map(({ command }) => command)).toEqual([null, null]);
});

test('an erased call, until its day is compared again', async () => {
  const range = dayAgo(8);
  const [id] = await callsOf(range);
  await eraseCalls(here.store, [id ?? '']);
  const [reason] = await why(range.from);
  expect(reason).toMatchObject({ warehouse: 'main', command: `callsync reconcile ${asked(range.from)}` });
  expect(reason?.text).toMatch(/erased, cut or sent again/);
  await here.drain();
  await reconcile(range);
  expect(await why(range.from)).toEqual([]);
});

test('rows that somebody changes while they are loaded', async () => {
  const range = dayAgo(9);
  await byHand(
    `UPDATE wh_main.calls SET revision = revision - 1 WHERE call_timestamp >= to_timestamp(${range.from / 1e6}) AND call_timestamp < to_timestamp(${range.to / 1e6})`,
  );
  await byHand(`CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.content_hash := ''spoilt''; RETURN NEW; END';
    CREATE TRIGGER spoil BEFORE INSERT OR UPDATE ON wh_main.calls FOR EACH ROW EXECUTE FUNCTION spoil()`);
  await reconcile(range);
  const [reason] = await why(range.from);
  expect(reason).toMatchObject({ warehouse: 'main', command: `callsync reconcile --force ${asked(range.from)}` });
  expect(reason?.text).toMatch(/still differ.*look for triggers/);
  const ids = await column(here.warehouse, `SELECT call_id FROM calls WHERE content_hash = 'spoilt'`);
  expect(reason?.calls.length).toBeGreaterThan(0);
  expect(ids).toEqual(expect.arrayContaining([...(reason?.calls ?? [])]));
  // An erased call is named no longer.
  await byHand('DROP TRIGGER spoil ON wh_main.calls');
  await eraseCalls(here.store, [reason?.calls[0] ?? '']);
  expect((await why(range.from))[0]?.calls).toEqual([]);
  await reconcile(range);
  expect(await why(range.from)).toEqual([]);
});

test('a table that was dropped', async () => {
  const range = dayAgo(10);
  await byHand('ALTER TABLE wh_main.calls RENAME TO lost');
  const [id] = await callsOf(range);
  await eraseCalls(here.store, [id ?? '']);
  await reconcile(range);
  const [reason] = await why(range.from);
  expect(reason).toMatchObject({ warehouse: 'main', command: 'callsync doctor' });
  expect(reason?.text).toMatch(/failed \(DATABASE_INCOMPLETE: .*SQLSTATE 42P01/);
  await byHand('ALTER TABLE wh_main.lost RENAME TO calls');
  await here.drain();
  await reconcile(range);
  expect(await why(range.from)).toEqual([]);
});

test('a service that lists far fewer calls, until somebody accepts it', async () => {
  const range = dayAgo(11);
  const ids = await callsOf(range);
  await here.simulator.delete({ callIds: ids });
  await reconcile(range);
  const [reason] = await why(range.from);
  expect(reason).toMatchObject({ warehouse: 'main', command: 'callsync doctor' });
  expect(reason?.text).toMatch(
    new RegExp(`lists 0 calls and leaves out ${ids.length} .*callsync reconcile --accept-empty`),
  );
  await here.reconcile({ range, force: true, acceptEmpty: true });
  expect(await why(range.from)).toEqual([]);
});

test('a comparison whose pages are refused, and windows with a silent limit or a bad record', async () => {
  const range = dayAgo(12);
  const [id] = await callsOf(range);
  await eraseCalls(here.store, [id ?? '']);
  await here.drain();
  const readPages = () => {
    throw transient('SERVICE_REFUSED', 'The list answers 400.');
  };
  await expect(reconcile(range, withList(here.deps, { readPages }))).rejects.toThrow('400');
  const [reason] = await why(range.from);
  expect(reason).toMatchObject({ warehouse: 'main', command: 'callsync doctor' });
  expect(reason?.text).toContain('The last comparison failed (SERVICE_REFUSED: The list answers 400');
  // Only for the window that it was about.
  expect((await why(dayAgo(1).from))[0]?.text).not.toContain('failed');
  await reconcile(dayAgo(13));
  expect((await why(range.from))[0]?.text).toContain('The last comparison failed');
  await reconcile(range);
  expect(await why(range.from)).toEqual([]);
  const axis = 'qualified';
  const command = `callsync backfill --force ${asked(range.from)}`;
  for (const [problem, remark] of [
    ['looks_truncated: The window gave 137 calls.', 'set source.list.max_results'],
    ['unreadable: One call cannot be read.', 'only the operator of the service'],
  ] as const) {
    await replaceProblems(here.store, { axis, ...range }, [{ axis, ...range, problem }]);
    // A proven day is proven, whatever another reading of it or a clock says.
    expect(await why(range.from, { skewMs: 600_000 })).toEqual([]);
    await eraseCalls(here.store, (await callsOf(range)).slice(0, 1));
    const [limit] = await why(range.from);
    expect(limit).toMatchObject({ warehouse: null, command });
    expect(limit?.text).toMatch(new RegExp(`^${problem.slice(problem.indexOf(':') + 2)} .*${remark}`));
    await here.drain();
    await reconcile(range);
    expect(await why(range.from)).toEqual([]);
  }
});

test('a call that is erased while its day is compared, or that has no time, is named nowhere', async () => {
  const range = dayAgo(14);
  const [id, timeless] = await callsOf(range);
  await byHand(`CREATE FUNCTION spoil2() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.content_hash := ''spoilt''; RETURN NEW; END';
    CREATE TRIGGER spoil BEFORE INSERT OR UPDATE ON wh_main.calls FOR EACH ROW EXECUTE FUNCTION spoil2()`);
  await byHand(
    `UPDATE wh_main.calls SET revision = revision - 1 WHERE call_timestamp >= to_timestamp(${range.from / 1e6}) AND call_timestamp < to_timestamp(${range.to / 1e6})`,
  );
  const named = async (): Promise<unknown> =>
    column(here.store, `SELECT unnest(unhealed_calls) FROM verdicts WHERE unhealed_calls IS NOT NULL`);
  // The verdict asks for the epoch after its comparison.
  const epoch = async (): Promise<number> => {
    await eraseCalls(here.store, [id ?? '']);
    return await here.store.epoch();
  };
  const store = new Proxy(here.store, {
    get: (target, name) => (name === 'epoch' ? epoch : Reflect.get(target, name)),
  });
  await reconcile(range, { ...here.deps, store });
  expect(await named()).toContain(timeless);
  expect(await named()).not.toContain(id);
  await byHand(`UPDATE callsync.ledger SET call_timestamp = NULL, processed_at = NULL WHERE call_id = '${timeless}'`);
  await eraseCalls(here.store, [timeless ?? '']);
  expect(await named()).not.toContain(timeless);
  await byHand('DROP TRIGGER spoil ON wh_main.calls');
});
