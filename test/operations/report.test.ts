/** The report of a month for auditors: its figures, its signature, and its page in a browser. */
import { beforeAll, expect, test } from 'vitest';
import { tableOf } from '../../schemas/tables.ts';
import { type Report, readReport } from '../../src/health/coverage/report.ts';
import { checkReport, renderReport, signReport } from '../../src/health/page/signed-report.ts';
import { randomStream } from '../../src/simulator/calls/random.ts';
import { eraseCalls } from '../../src/store/persons/calls.ts';
import { expireRows } from '../../src/store/retention.ts';
import { createProofKeys } from '../../src/store/windows/chain.ts';
import { day, useInstallation } from '../pipeline/reconcile/installation.ts';
import { openCli, withoutService } from '../support/cli.ts';
import { retention } from '../support/pipeline.ts';
import { runOnServer } from '../support/postgres.ts';
import { column } from '../support/rows.ts';
import { pictures, usePage, violations } from './support/browser.ts';

const month = { from: Date.UTC(2026, 0) * 1000, to: Date.UTC(2026, 1) * 1000 };
const calls = { count: 200, utterances: 2, words: 2, from: '2026-01-03T00:00:00Z', to: '2026-01-29T00:00:00Z' };
const here = useInstallation({ seed: 3, calls });
const { held } = usePage();
const keys = createProofKeys(Buffer.from('a secret of the tests, long enough'));
let report: Report;
let signed = '';
let page = '';

const read = (): Promise<Report> =>
  readReport(here.store, { range: month, warehouses: ['main'], version: '9.9.9', now: Date.UTC(2026, 5) * 1000 });

/** Of the calls of these days. */
const idsOf = (from: string, to: string) =>
  column<string>(here.store, 'SELECT call_id FROM ledger WHERE call_timestamp >= $1 AND call_timestamp < $2', [
    from,
    to,
  ]);
const readDays = async () => new Map((await read()).days.map((one) => [one.day, one]));

beforeAll(async () => {
  await here.backfill({ from: here.range.from, to: month.to });
  await here.drain();
  await here.reconcile({ range: { from: month.from, to: month.from + 20 * day } });
  await here.query(`DELETE FROM wh_main.calls WHERE call_timestamp >= '2026-01-10' AND call_timestamp < '2026-01-11'`);
  await here.reconcile({ range: { from: month.from, to: month.from + 20 * day }, force: true });
  await here.query(
    `INSERT INTO callsync.events (at, kind, what) VALUES ('2026-01-20', 'outage', 'No <worker> ran.</script>'), ('2026-01-20', 'assistant', 'query: 1 rows')`,
  );
  // Two erasures of the month, one of another, and a receipt of a hold.
  const erasures = { '2026-01-01T00:00:00Z': 3, '2026-01-31T23:59:59Z': 4, '2026-02-01T00:00:00Z': 9 };
  const receipts = Object.entries(erasures).map(([at, erased]): object => ({ at, erased }));
  await here.query(
    `INSERT INTO callsync.erasure_receipts (receipt_id, receipt, key_id, digest) OVERRIDING SYSTEM VALUE
       SELECT n, receipt::text, '', '' FROM json_array_elements($1) WITH ORDINALITY t (receipt, n)`,
    [JSON.stringify([...receipts, { at: '2026-01-02T00:00:00Z', action: 'put on' }])],
  );
  report = await read();
  signed = signReport(keys, report);
  page = renderReport(signed);
});

test('the days have the counts of the verdicts and of the ledger; unproven days are named', async () => {
  const ids = await idsOf('2026-01-01', '2026-02-01');
  expect(report.days.reduce((sum, one) => sum + one.calls, 0)).toBe(ids.length);
  expect(report.days).toHaveLength(31);
  const [healed] = report.days.filter(({ state }) => state === 'healed');
  expect(healed).toMatchObject({ day: '2026-01-10', missing: healed?.calls, healed: healed?.calls });
  expect(report.days.filter(({ state }) => state === 'read' || state === 'unread')).toHaveLength(11);
  expect(report).toMatchObject({ month: '2026-01', erasures: { receipts: 2, calls: 7 } });
  expect(report.holds).toEqual({ put_on: 1, taken_off: 0, now: 0 });
  expect(report.restores).toEqual([]);
  expect(report.events).toEqual([{ at: '2026-01-20 00:00:00', kind: 'outage', what: 'No <worker> ran.</script>' }]);
});

/** Copies of the verdicts of which `where` holds, each with these changes. */
const copyVerdicts = (changes: string, where: string, copies = 1) =>
  here.query(`INSERT INTO callsync.verdicts SELECT (jsonb_populate_record(v, ${changes})).*
    FROM callsync.verdicts v, generate_series(1, ${copies}) n WHERE ${where}`);
const last = (day: string) =>
  `verdict_id = (SELECT max(verdict_id) FROM callsync.verdicts WHERE window_from = '${day}')`;

test('a later comparison, of another width or axis, neither hides what was healed nor counts calls twice', async () => {
  const healed = report.days.find(({ state }) => state === 'healed');
  const from = Date.UTC(2026, 0, 10) * 1000;
  await here.reconcile({ range: { from, to: from + day / 2 }, force: true });
  await here.reconcile({ range: { from, to: from + day }, force: true });
  const ofOther = `jsonb_build_object('verdict_id', 1000 + verdict_id, 'axis', 'other')`;
  await copyVerdicts(ofOther, `window_from = '2026-01-11'`);
  const later = await readDays();
  expect(later.get('2026-01-10')).toEqual({ ...healed, state: 'proven', calls_found: healed?.calls_listed });
  expect(later.get('2026-01-11')).toEqual(report.days[10]);
  await here.query('DELETE FROM callsync.verdicts WHERE verdict_id > 1000');
  // A difference that stays is one, however often it is found; a window of several days says nothing of one.
  const spoilt = `jsonb_build_object('verdict_id', 2000 + n, 'missing', 3, 'healed', CASE n WHEN 9 THEN 3 ELSE 0 END)`;
  await copyVerdicts(spoilt, last('2026-01-13'), 9);
  const wide = `'{"verdict_id": 3000, "window_from": "2026-01-25", "window_to": "2026-01-28"}'`;
  await copyVerdicts(wide, last('2026-01-12'));
  const days = await readDays();
  expect(days.get('2026-01-13')).toMatchObject({ missing: 3, healed: 3 });
  for (const date of ['2026-01-25', '2026-01-26'])
    expect(days.get(date)).toMatchObject({ calls_listed: null, healed: null, state: 'proven' });
  await here.query('DELETE FROM callsync.verdicts WHERE verdict_id > 1000');
  // A withdrawal compares nothing.
  await eraseCalls(here.store, (await idsOf('2026-01-12', '2026-01-13')).slice(0, 1));
  const calls_found = report.days[11]?.calls_found;
  expect((await readDays()).get('2026-01-12')).toMatchObject({ state: 'read', calls_found });
});

test('deliveries are counted although their rows have expired, and events that are left out', async () => {
  await here.query(
    `INSERT INTO callsync.inbox (received_at, outcome) SELECT '2026-01-20T12:00:00Z', outcome FROM unnest(ARRAY['rejected', 'rejected', 'accepted']) outcome`,
  );
  expect((await read()).deliveries).toEqual({ accepted: 1, rejected: 2 });
  const rules = { ...retention, inbox_retention: day / 1000 };
  await expireRows(here.store, { ...rules, delivery_retention: 9e12 });
  await here.query(`INSERT INTO callsync.inbox (received_at, outcome) VALUES ('2026-01-20T13:00:00Z', 'rejected')`);
  await expireRows(here.store, { ...rules, delivery_retention: day / 1000 });
  expect(await column(here.store, 'SELECT count(*)::int FROM inbox')).toEqual([0]);
  expect((await read()).deliveries).toEqual({ accepted: 1, rejected: 3 });
  await here.query(
    `INSERT INTO callsync.events (at, kind, what) SELECT '2026-01-21', 'quarantine', n::text FROM generate_series(1, 1005) n`,
  );
  expect(await read()).toMatchObject({ events_left_out: 5, oldest_event: '2026-01-21 00:00:00' });
});

test('whoever has the public key can check both files; each altered byte is refused', () => {
  for (const file of [signed, `${signed}\n`, page]) expect(checkReport(file, keys.publicKey)).toBeUndefined();
  const random = randomStream(7);
  for (const file of [`${signed}\n`, page])
    for (let round = 0; round < 50; round += 1) {
      const at = Math.floor(random() * (file.length - 1));
      const altered = file.slice(0, at) + String.fromCharCode(file.charCodeAt(at) ^ 1) + file.slice(at + 1);
      expect(checkReport(altered, keys.publicKey), `${at}`).toBeDefined();
    }
  const other = createProofKeys(Buffer.from('another secret of the tests, long'));
  expect(checkReport(signed, other.publicKey)).toMatch(/another key/);
  expect(checkReport('{}', keys.publicKey)).toMatch(/no report|not a report/);
  const older = signReport(keys, { month: '2026-01' } as never);
  const olderPage = `<!doctype html><script type="application/json" id="signed">${older}</script>`;
  expect(checkReport(olderPage, keys.publicKey)).toMatch(/another version/);
  expect(checkReport(page.replace('Days proven', 'Days  proven'), keys.publicKey)).toMatch(/something else/);
});

test.each(['light', 'dark'] as const)('the page is accessible and loads nothing, in %s', async (scheme) => {
  await held.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  const asked: string[] = [];
  held.page.on('request', (request) => asked.push(request.url()));
  await held.page.setContent(page);
  expect(await violations(held.page)).toEqual([]);
  expect(asked).toEqual([]);
  expect(await held.page.$eval('main', ({ textContent }) => textContent)).toContain('No <worker> ran.</script>');
  if (pictures !== undefined) await held.page.screenshot({ path: `${pictures}/report-${scheme}.png` });
});

test('the page is printed as A4', async () => {
  await held.page.setContent(page);
  const pdf = Buffer.from(await held.page.pdf({ preferCSSPageSize: true }));
  expect(pdf.toString('latin1')).toMatch(/MediaBox ?\[0 0 59[45](\.\d+)? 84[12](\.\d+)?\]/);
});

const forged: Record<string, string> = {
  ...{ level: `'ids'`, warehouse_level: `'rows'`, outcome: `'proven'`, confirmed: `'total'`, previous_digest: 'NULL' },
};

test('the command writes both files, and checks them without a configuration', async () => {
  const { folder, database } = await openCli();
  await folder.configure(withoutService(database.url));
  await folder.write('key.pem', (await folder.run(['privacy', 'public-key'])).stdout);
  expect(await folder.run(['report', '--month', '2026-01'])).toMatchObject({ code: 0 });
  for (const kind of ['json', 'html']) {
    const args = ['report', 'verify', `callsync-report-2026-01.${kind}`, '--public-key', 'key.pem'];
    expect(await folder.run(args)).toMatchObject({ code: 0 });
  }
  await folder.write('altered.json', signed);
  expect((await folder.run(['report', 'verify', 'altered.json', '--public-key', 'key.pem'])).code).toBe(5);
  await folder.write('r.json', JSON.stringify(await folder.json(['erase', '--by', 'call', '--yes'], { input: 'c1' })));
  const receipt = await folder.run(['privacy', 'check-receipt', 'r.json', '--public-key', 'key.pem']);
  expect(receipt.stdout).toMatch(
    /signed by the holder.*\nRequested at 2\d{3}-.*\nThe request covers 1 call.*\n(.*\n)*A search of the store afterwards found 0/,
  );
  expect((await folder.run(['report', '--month', '2026-13'])).stderr).toContain('Use a month such as 2026-10');
  // Somebody adds a verdict, without the key of the chain.
  const columns = tableOf('verdicts').columns.map(({ name }) => name);
  const verdict = columns.map((name) => (/_(from|to|at)$/.test(name) ? `'2026-01-25T12:00Z'` : (forged[name] ?? '1')));
  await runOnServer(database.url, `INSERT INTO callsync.verdicts (warehouse, ${columns}) VALUES ('main', ${verdict})`);
  const stderr = expect.stringContaining('PROOF_ALTERED');
  expect(await folder.run(['report', '--month', '2026-01'])).toMatchObject({ code: 5, stderr });
  const stdout = expect.stringContaining('main (1)');
  for (const more of ['--from=2026-01-01', '--day=2026-01-25'])
    expect(await folder.run(['coverage', more])).toMatchObject({ code: 5, stdout });
  expect((await folder.json(['coverage'])).from, 'its first day is a whole one').toMatch(/T00:00:00/);
  // Other months are signed.
  expect(await folder.run(['report', '--month', '2026-02'])).toMatchObject({ code: 0 });
  const store = { url: database.url, proof_key_file: await folder.write('other.key', 'o'.repeat(32)) };
  await folder.configure({ ...withoutService(database.url), store });
  const refused = { code: 3, stderr: expect.stringContaining('PROOF_KEY') };
  expect(await folder.run(['report', '--month', '2026-02'])).toMatchObject(refused);
});
