/** Days that are made unproven on purpose: each cause is named, with the command that settles it, and after that the day is proven. */
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { drawReasons, explainDay, type Reason } from '../../src/health/coverage/why.ts';
import { beat, readHealth, readProofs } from '../../src/health/read-health.ts';
import { transient } from '../../src/lib/errors.ts';
import { asSync, finishSync } from '../../src/pipeline/read/plan-sync.ts';
import { eraseCalls } from '../../src/store/persons/calls.ts';
import { advanceWatermark, replaceProblems } from '../../src/store/windows/windows.ts';
import { day, useInstallation } from '../pipeline/reconcile/installation.ts';
import { readPart, simulatedSource, withList } from '../source/simulated.ts';
import { closedPort } from '../support/closed-port.ts';
import { collect, column } from '../support/rows.ts';

const now = Date.now() * 1000;
const today = Math.floor(now / day) * day;
const timeOf = (micros: number): string => new Date(micros / 1000).toISOString();
const dayAgo = (days: number) => ({ from: today - days * day, to: today - (days - 1) * day });
const here = useInstallation({
  seed: 12,
  calls: { count: 300, utterances: 3, words: 3, from: timeOf(today - 20 * day), to: timeOf(today - 4 * day) },
});

/** @param clock milliseconds by which the clock of this machine is ahead */
const why = async (start: number, clock = 0): Promise<Reason[]> => {
  const proofs = await readProofs(here.store, { warehouses: ['main'], days: 92 });
  const readings = { ...(await readHealth(here.store, { warehouses: ['main'] })), syncEvery: 60, proofs };
  const at = (Date.now() + clock) * 1000;
  return await explainDay(here.store, { day: start, now: at, readings, warehouses: ['main'], comparedAfter: 2 * day });
};
const dateOf = (micros: number): string => timeOf(micros).slice(0, 10);
const asked = (start: number): string => `--from ${dateOf(start)} --to ${dateOf(start + day)}`;
const reconcile = (range: { from: number; to: number }, by = here.deps) => here.reconcile({ range, force: true }, by);
const callsOf = ({ from, to }: { from: number; to: number }) =>
  here.store.column<string>`SELECT call_id FROM ledger WHERE call_timestamp >= to_timestamp(${from / 1e6})
    AND call_timestamp < to_timestamp(${to / 1e6}) AND NOT tombstone ORDER BY call_timestamp`;
/** Of a process that asks once, and knows nothing of the list yet. */
const openSource = async (more: object = {}) => {
  const limits = { requests: 100_000, per_s: 1, retries: 0 };
  const source = await simulatedSource(here.simulator, { list: { preset: 'activate' }, limits, ...more });
  onTestFinished(source.close);
  return { ...here.deps, source };
};
/** As continuous sync does it, which keeps its failure. */
const sync = (deps: typeof here.deps, range: { from: number; to: number }) =>
  asSync(deps, () => readPart(deps, { axis: 'timestamp', range }));
/** Compares the day, which is proven then. */
const prove = async (range: { from: number; to: number }): Promise<void> => {
  await reconcile(range);
  expect(await why(range.from)).toEqual([]);
};
const settle = async (range: { from: number; to: number }): Promise<void> => {
  await sync(here.deps, range);
  await prove(range);
};
const eraseFirst = async (range: { from: number; to: number }): Promise<void> =>
  void (await eraseCalls(here.store, (await callsOf(range)).slice(0, 1)));
/** The first reason of the day, which is the warehouse's. */
const expectReason = async (range: { from: number }, command: string, text: RegExp): Promise<Reason | undefined> => {
  const [reason] = await why(range.from);
  expect(reason).toMatchObject({ warehouse: 'main', command, text: expect.stringMatching(text) });
  return reason;
};
/** The warehouse fails, or changes, by statements that stand for other people. */
const byHand = (sql: string) => here.query(sql);
/** Rows of the day are sent again, and a trigger of this function changes what comes. */
const spoilRows = async ({ from, to }: { from: number; to: number }, name: string): Promise<void> => {
  await byHand(`UPDATE wh_main.calls SET revision = revision - 1
    WHERE call_timestamp >= to_timestamp(${from / 1e6}) AND call_timestamp < to_timestamp(${to / 1e6})`);
  await byHand(`CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.content_hash := ''spoilt''; RETURN NEW; END';
    CREATE TRIGGER spoil BEFORE INSERT OR UPDATE ON wh_main.calls FOR EACH ROW EXECUTE FUNCTION ${name}()`);
};

beforeAll(async () => {
  await advanceWatermark(here.store, { axis: 'qualified', start: here.range.from });
  // Days 7, 6 and 5 before today stay unread.
  const first = { from: here.range.from, to: today - 7 * day };
  await here.backfill(first);
  await here.backfill({ from: today - 4 * day, to: today });
  await here.drain();
  await reconcile(first);
  await beat(here.store);
});

test('a proven day has no reason, also where another reading of it failed', async () => {
  const { from, to } = dayAgo(8);
  expect(await why(from)).toEqual([]);
  const problem = { axis: 'qualified', from, to, problem: 'unreadable: One call cannot be read.' };
  await replaceProblems(here.store, problem, [problem]);
  expect(await why(from)).toEqual([]);
  await replaceProblems(here.store, problem, []);
});

test('a day that ended a moment ago waits for late calls, unless a worker is away or the clock is off', async () => {
  const range = dayAgo(1);
  const command = `callsync reconcile ${asked(range.from)}`;
  const waits = { warehouse: 'main', text: expect.stringMatching(/The schedule waits for .* come late/), command };
  expect(await why(range.from)).toMatchObject([waits]);
  await byHand(`UPDATE callsync.meta SET updated_at = now() - interval '40 seconds' WHERE key = 'worker'`);
  const away = { text: expect.stringContaining('waits for a worker'), command: 'callsync worker' };
  expect(await why(range.from)).toMatchObject([away]);
  await beat(here.store);
  const clock = { text: expect.stringContaining('10 min behind'), command: 'callsync doctor' };
  expect(await why(range.from, 600_000)).toMatchObject([clock, waits]);
  // A proven day is proven, whatever a clock says.
  expect(await why(dayAgo(8).from, 600_000)).toEqual([]);
  const at = timeOf(range.from + day / 2);
  await here.simulator.insert({ timestamp: at, qualified: at, status: 'qualified' });
  expect(await reconcile(range)).toMatchObject({ healed: 1, missing: 1, healedCalls: 1 });
  expect(await why(range.from)).toEqual([]);
  expect(await why(today + 2 * day)).toMatchObject([{ text: 'The day has not begun.', command: null }]);
});

test('a day before the first reading, one while the service is away, and one that has not ended', async () => {
  const before = here.range.from - 2 * day;
  const nobody = { text: expect.stringContaining('Nobody'), command: `callsync backfill ${asked(before)}` };
  expect(await why(before)).toMatchObject([nobody]);
  const range = dayAgo(7);
  const gone = await openSource({ base_url: `http://127.0.0.1:${closedPort}` });
  await expect(sync(gone, range)).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' });
  const [unread] = await why(range.from);
  expect(unread).toMatchObject({ warehouse: null, command: 'callsync doctor' });
  expect(unread?.text).toContain('waits for the service (SERVICE_UNREACHABLE)');
  expect(unread?.since).toBeGreaterThan(now - day);
  await finishSync(here.deps as never, { seenTo: now });
  expect(await why(range.from)).toMatchObject([{ command: `callsync backfill ${asked(range.from)}` }]);
  await settle(range);
  // Of a day that has not ended, no command can prove the rest.
  expect((await why(today)).at(-1)).toMatchObject({ text: expect.stringContaining('not ended'), command: null });
  await here.backfill({ from: today, to: now });
  expect((await why(today)).map(({ command }) => command)).toEqual([null, null]);
});

test('a list that shows few calls of an instant, without a word', async () => {
  const range = dayAgo(6);
  const noon = range.from + day / 2;
  const at = timeOf(noon);
  await here.simulator.insert({ timestamp: at, qualified: at, status: 'qualified', count: 5 });
  await here.simulator.configure({ dialectOverrides: { cap: 3 } });
  await sync(await openSource(), { from: noon - 5e6, to: noon + 5e6 });
  const limit = (await why(range.from)).find(({ text }) => text.includes('gave 3 calls'));
  await here.simulator.configure({ dialectOverrides: { cap: 100_000 } });
  expect(limit).toMatchObject({ warehouse: null, command: `callsync backfill --force ${asked(range.from)}` });
  expect(limit?.text).toMatch(/as many as any query.*probe finds a silent limit\. The service was asked 1 time/);
  await settle(range);
});

test('a record with which every answer fails', async () => {
  const range = dayAgo(5);
  const all = await collect(here.simulator.truth({ light: true }));
  const isIn = (at: number) => at >= range.from && at < range.to;
  const record = all.findIndex((one) => one.visibleInList && isIn(Date.parse(one.timestamp) * 1000));
  const bad = Date.parse(all[record]?.timestamp ?? '') * 1000;
  await here.simulator.configure({ quirks: { poison: [{ record, kind: 'error_500', light: true, single: true }] } });
  await sync(await openSource(), { from: bad - 2e6, to: bad + 2e6 });
  const named = (await why(range.from)).find(({ text }) => text.includes('cannot be read'));
  await here.simulator.configure({ quirks: { poison: [] } });
  expect(named).toMatchObject({ warehouse: null, command: `callsync backfill --force ${asked(range.from)}` });
  expect(named?.text).toMatch(/1 call cannot be read.*only the operator of the service/);
  await settle(range);
});

test('an erased call, until its day is compared again', async () => {
  const range = dayAgo(8);
  await eraseFirst(range);
  await expectReason(range, `callsync reconcile ${asked(range.from)}`, /erased, cut or sent again/);
  await here.drain();
  await prove(range);
});

test('rows that somebody changes while they are loaded', async () => {
  const range = dayAgo(9);
  await spoilRows(range, 'spoil');
  await reconcile(range);
  const command = `callsync reconcile --force ${asked(range.from)}`;
  const reason = await expectReason(range, command, /still differ.*look for triggers/);
  const ids = await column(here.warehouse, `SELECT call_id FROM calls WHERE content_hash = 'spoilt'`);
  expect(reason?.calls.length).toBeGreaterThan(0);
  expect(ids).toEqual(expect.arrayContaining([...(reason?.calls ?? [])]));
  // A call that waits, or that the warehouse refuses, has no other cause.
  const [waits] = reason?.calls ?? [];
  await byHand(
    `UPDATE callsync.warehouse_calls SET pending = true, refused = 'LEDGER_DAMAGED' WHERE call_id = '${waits}'`,
  );
  await expectReason(
    range,
    command,
    /still differ from the ledger\. Calls of this day wait to be loaded \(LEDGER_DAMAGED\)\. Listed/,
  );
  // An erased call is named no longer.
  await byHand('DROP TRIGGER spoil ON wh_main.calls');
  await eraseCalls(here.store, [reason?.calls[0] ?? '']);
  expect((await why(range.from))[0]?.calls).toEqual([]);
  await prove(range);
});

test('a table that was dropped', async () => {
  const range = dayAgo(10);
  await byHand('ALTER TABLE wh_main.calls RENAME TO lost');
  await eraseFirst(range);
  await reconcile(range);
  await expectReason(range, 'callsync doctor', /failed \(DATABASE_INCOMPLETE: .*SQLSTATE 42P01.*wh_main\.calls/);
  await byHand('ALTER TABLE wh_main.lost RENAME TO calls');
  await here.drain();
  await prove(range);
});

test('a service that lists far fewer calls, until somebody accepts it', async () => {
  const range = dayAgo(11);
  const ids = await callsOf(range);
  await here.simulator.delete({ callIds: ids });
  await reconcile(range);
  const says = new RegExp(`lists 0 calls and leaves out ${ids.length} .*callsync reconcile --accept-empty`);
  await expectReason(range, 'callsync doctor', says);
  await here.reconcile({ range, force: true, acceptEmpty: true });
  expect(await why(range.from)).toEqual([]);
});

test('a comparison whose pages are refused', async () => {
  const range = dayAgo(12);
  await eraseFirst(range);
  await here.drain();
  const readPages = () => {
    throw transient('SERVICE_REFUSED', 'The list answers 400.');
  };
  await expect(reconcile(range, withList(here.deps, { readPages }))).rejects.toThrow('400');
  await expectReason(range, 'callsync doctor', /The last comparison failed \(SERVICE_REFUSED: The list answers 400/);
  // Only for the window that it was about.
  expect((await why(dayAgo(2).from))[0]?.text).not.toContain('failed');
  await reconcile(dayAgo(13));
  expect((await why(range.from))[0]?.text).toContain('The last comparison failed');
  await prove(range);
});

test('a call that is erased while its day is compared, or that has no time, is named nowhere', async () => {
  const range = dayAgo(14);
  const [id, timeless] = (await callsOf(range)).toSorted();
  await spoilRows(range, 'spoil_again');
  const named = () => column(here.store, 'SELECT unnest(unhealed_calls) FROM verdicts');
  // The verdict asks for the epoch after its comparison.
  const epoch = async (): Promise<number> => {
    await eraseCalls(here.store, [id ?? '']);
    return await here.store.epoch();
  };
  await reconcile(range, { ...here.deps, store: Object.create(here.store, { epoch: { value: epoch } }) });
  expect(await named()).toContain(timeless);
  expect(await named()).not.toContain(id);
  await byHand(`UPDATE callsync.ledger SET call_timestamp = NULL, processed_at = NULL WHERE call_id = '${timeless}'`);
  await eraseCalls(here.store, [timeless ?? '']);
  expect(await named()).not.toContain(timeless);
  await byHand('DROP TRIGGER spoil ON wh_main.calls');
});

test('a reason that holds for the whole day ends at 24:00:00', () => {
  const reason = { ...dayAgo(0), warehouse: 'main', calls: [], since: null, command: null, text: 'Not compared.' };
  expect(drawReasons('2026-11-29', [reason])).toContain('\n00:00:00 to 24:00:00  main: Not compared.');
});
