/** Files in, quarantine out: the commands as a user runs them, on a real database. */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { sampleCall } from '../../src/cli/commands/webhook/sample-call.ts';
import { openCli, openCliFolder } from '../support/cli.ts';
import { connect, runOnServer } from '../support/postgres.ts';

const { folder, database } = await openCli();
const base = { source: { base_url: 'http://127.0.0.1:9' }, store: { url: database.url } };
const rules = { profile: 'pseudonymous', unreadable: 'drop' };
await folder.configure(base);

const json = (args: readonly string[], input = '', code = 0) => folder.json(args, { input, code });
const importLines = async (...lines: readonly string[]) =>
  await json(['import', await folder.write('lines.ndjson', lines.join('\n'))]);
const at = new Date('2025-03-01T10:00:00Z');
const line = (id: string, more: object = {}): string => JSON.stringify({ ...sampleCall(id, at), ...more });

test('needs no access to the service; bad lines wait in quarantine until they are replayed or dropped', async () => {
  const lines = [line('call-1'), 'not json', line('call-2'), line('call-3', { timestamp: 'some day' }), '{}'];
  const file = await folder.write('old.ndjson.gz', gzipSync(lines.join('\n')));

  expect(await json(['import', file], '', 5)).toMatchObject({ records: 5, refused: 3, added: 2, changed: 2 });
  // No worker runs, and none has to. `status` may still count a walk, which waits for older transactions of the whole server.
  expect(await json(['status'])).toMatchObject({ calls: 2 });
  expect((await json(['query', 'SELECT count(*) AS n FROM calls'])).rows).toEqual([{ n: 2 }]);

  const entries = await json(['quarantine', 'list']);
  const origins = entries.map((entry: { origin: string }) => entry.origin).sort();
  expect(origins).toEqual(['old.ndjson.gz:2', 'old.ndjson.gz:4', 'old.ndjson.gz:5']);
  const undated = String(entries.find((entry: { origin: string }) => entry.origin.endsWith(':4')).id);
  const shown = await folder.run(['quarantine', 'show', undated]);
  expect(shown.stdout).toContain('transcript_json: object');
  expect(shown.stdout).not.toMatch(/call-3|some day|\+1555/);
  expect((await folder.run(['quarantine', 'show', undated, '--raw'])).stdout).toBe(lines[3]);

  const given = ['quarantine', 'replay', undated, '--observed-at', '2025-03-02'];
  expect(await json(given)).toMatchObject({ replayed: 1, refused: 0, changed: 1 });
  expect(await json(['quarantine', 'replay', '--all'], '', 5)).toMatchObject({ replayed: 0, refused: 2 });
  const open = (await json(['quarantine', 'list'])).map((entry: { id: number }) => String(entry.id));
  expect(await json(['quarantine', 'drop', ...open])).toMatchObject({ dropped: 2 });
  expect(await json(['status'])).toMatchObject({ calls: 3, quarantine: { count: 0 } });
});

test('reads standard input, and reports fields that nobody knows', async () => {
  const array = `[${line('call-8', { brand_new: 1 })},${line('call-9')}]`;
  expect(await json(['import', '-'], array)).toMatchObject({ records: 2, changed: 2 });
  const { drift } = await json(['schema']);
  expect(drift).toMatchObject([{ source: 'import', field: 'brand_new', kind: 'new', seen: 1 }]);
});

test('a file that is not there, the manifest of an export, and no choice of records', async () => {
  const manifest = await folder.write('manifest.json', '{\n  "made_by": "callsync 0.1.0"\n}\n');
  const skipped = { code: 0, stdout: '', stderr: expect.stringContaining('callsync skips it') };
  expect(await folder.run(['import', manifest])).toMatchObject(skipped);
  const stderr = expect.stringContaining('The file /no/such/nowhere.json cannot be read (ENOENT)');
  expect(await folder.run(['import', '/no/such/nowhere.json'])).toMatchObject({ code: 2, stdout: '', stderr });
  expect((await folder.run(['quarantine', 'replay'])).code).toBe(2);
});

test('a request that finds less than it names says so, and one that can find nothing is refused', async () => {
  const ask = (args: readonly string[], ...values: readonly string[]) => folder.run(args, { input: values.join('\n') });
  await importLines(line('call-known'), line('call-to-erase'));
  const first = await json(['erase', '--by', 'call', '--yes'], 'call-to-erase');
  expect(first).toMatchObject({ erased: 1, found: { calls: 0, documents: 0, inbox: 0 }, proof: { receipt_id: 1 } });
  const named = ['call-to-erase', 'call-known', 'mistyped'] as const;
  const { stdout: dry } = await ask(['erase', '--by', 'call'], ...named);
  expect(dry).toContain('covers 3 calls: 1 stored, 1 erased earlier, 1 unknown. callsync erased nothing yet');
  expect(dry).toContain('Check the id of the unknown call.');
  const { stdout: nothing } = await ask(['erase', '--by', 'call'], named[0]);
  expect(nothing).toContain('1 erased earlier. Nothing is left to erase.');
  const exported = await ask(['privacy', 'export', '--by', 'call'], ...named);
  expect(JSON.parse(exported.stdout)).toMatchObject({ unique_id: 'call-known' });
  expect(exported.stderr).toContain('1 call; 1 erased; 1 unknown.');

  const why = ['--reason', 'case 18'];
  const refused = await ask(['privacy', 'hold', 'add', '--by', 'call', ...why], named[0]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('so there is nothing to hold') });
  const held = await json(['privacy', 'hold', 'add', '--by', 'call', ...why], 'call-known');
  const mixed = await ask(['erase', '--by', 'call'], ...named);
  expect(mixed.stdout).toContain('1 of them is under a legal hold, so --yes refuses all');
  expect(mixed.stdout).toContain('With --except-held it erases the others.');
  expect((await json(['erase', '--by', 'call', '--yes'], named.join('\n'), 6)).error.code).toBe('ERASURE_HELD');
  expect((await ask(['erase', '--by', 'call', '--except-held'], ...named)).stdout).toContain('legal hold and stays');
  await json(['privacy', 'hold', 'remove', held.hold.id, ...why]);
  const result = await json(['erase', '--by', 'call', '--yes'], named.join('\n'));
  expect(result).toMatchObject({ calls: 3, known: 1, erasedBefore: 1, erased: 2 });
  const other = await connect(database.url);
  onTestFinished(() => other.end());
  await other.query('BEGIN; LOCK TABLE callsync.ledger; DELETE FROM callsync.erasure_receipts');
  expect((await folder.run(['verdicts'])).stdout).toMatch(/erasures: \d receipts, chain intact/);
  await other.query(`COMMIT; INSERT INTO callsync.warehouses (name, configured_at) VALUES ('away', 'epoch')`);
  expect((await folder.run(['verdicts'])).stdout).toMatch(/is gone: .*store anew on purpose, remove .*heads\.json\./s);
  expect((await folder.run(['status'])).stdout).toMatch(/warehouse +away: .*; not in this configuration: start/);

  for (const value of ['abc', '12']) {
    const short = await ask(['erase', '--by', 'phone'], '+33611223344', value);
    const stderr = expect.stringContaining('Value 2 of 2 is no telephone number');
    expect(short).toMatchObject({ code: 2, stdout: '', stderr });
    expect(short.stderr).not.toContain(value);
  }
  // A number in London, with and without its country.
  await importLines(line('call-uk', { in: { type: 'PHONE', data: '+442079460018' } }));
  const hint = 'write others with + and country code';
  const national = await ask(['erase', '--by', 'phone'], '020 7946 0018');
  expect(national).toMatchObject({ code: 0, stderr: expect.stringContaining(hint) });
  expect(national.stderr).not.toContain('7946');
  for (const number of ['+44 20 7946 0018', '0044 20 7946 0018'])
    expect((await ask(['erase', '--by', 'phone'], number)).stderr).not.toContain(hint);
  const mistyped = ['--by', 'metadata', '--key', 'Clientid'];
  for (const command of [['erase'], ['erase', '--yes'], ['privacy', 'export']]) {
    const unknown = await ask([...command, ...mistyped], 'sample');
    expect(unknown).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Did you mean ClientID?') });
  }
  const later = await ask(['erase', '--suppress', ...mistyped], 'nobody');
  expect(later).toMatchObject({ code: 0, stderr: expect.stringContaining('Did you mean ClientID?') });
  expect((await ask(['erase', '--by', 'metadata', '--key', 'ClientID'], 'nobody')).stderr).not.toContain('key');
  await runOnServer(database.url, `UPDATE callsync.ledger_documents SET body = '' WHERE call_id = 'call-uk'`);
  expect((await json(['privacy', 'export', '--by', 'call'], 'call-uk', 4)).error.code).toBe('LEDGER_DAMAGED');
  // Nobody knows whom it names.
  await runOnServer(database.url, 'UPDATE callsync.ledger_documents SET subjects = NULL, subjects_version = NULL');
  const { code, stderr } = await ask(['erase', '--by', 'phone'], '+44 20 7946 0018');
  expect(`${code} ${stderr}`).toMatch(/^0 (.*\n)*.*LEDGER_DAMAGED.* call-uk,.*reconcile --force/);
});

test('a host with another token key is refused; with one key, an erasure finds the calls of both hosts', async () => {
  const other = await openCliFolder();
  const keyOf = (name: string) => join(folder.path, `data/${name}.key`);
  const store = { ...base.store, tombstone_key_file: keyOf('tombstone'), proof_key_file: keyOf('proof') };
  const configured = (privacy: object) => ({ ...base, store, privacy: { ...rules, ...privacy } });
  const number = '+33612345678';
  const call = (id: string) => line(id, { in: { type: 'PHONE', data: number } });
  onTestFinished(() => other.remove());
  await folder.configure(configured({}));
  await importLines(call('call-here'));
  // As every host makes it.
  await other.configure(configured({}));
  const there = await other.write('there.ndjson', call('call-there'));
  const refused = { code: 3, stderr: expect.stringContaining('privacy.key') };
  for (const command of [['import', there], 'erase --by phone --yes --suppress'.split(' ')])
    expect(await other.run(command, { input: number })).toMatchObject(refused);
  await other.configure(configured({ key_file: keyOf('privacy') }));
  expect((await other.run(['import', there])).code).toBe(0);
  expect(await json(['erase', '--by', 'phone', '--yes'], number)).toMatchObject({ erased: 2 });
  const file = { code: 3, stderr: expect.stringContaining('privacy.key_file') };
  for (const command of ['serve', 'worker']) expect(await folder.run([command])).toMatchObject(file);
});

test('with the former key the store takes a new one, without it does not', async () => {
  const former = { id: 'k1', file: join(folder.path, 'data/privacy.key') };
  const keys = { key_id: 'k2', key_file: await folder.write('k2.key', 'k'.repeat(64)), former_keys: [former] };
  await folder.configure({ ...base, privacy: { ...rules, ...keys } });
  await importLines(line('call-under-k2'));
});

test('status counts the utterances that became [unread], once, and also those of erased calls', async () => {
  await folder.configure({ ...base, privacy: rules });
  onTestFinished(() => folder.configure(base));
  const said = [{ from: 'in', content: '[unread]' }];
  const transcript = { callData: said, callsync_redactions: [[0, null, null, 'unread', 1]] };
  for (const status of ['qualified', 'void'])
    await json(['import', '-'], `[${line('call-unread', { status, transcript_json: transcript })}]`);
  await json(['erase', '--by', 'call', '--yes'], 'call-unread');
  expect(await json(['status'])).toMatchObject({ unread: 1 });
  expect((await folder.run(['status'])).stdout).toMatch(/^privacy +rules \w+, 1 utterance became \[unread\]/m);
});
