/** Messages of failing commands: one sentence, the next step, no stack trace, an exit code. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { sourceOf } from '../../src/simulator/demo/simulator-process.ts';
import { type CliFolder, type CliResult, openCliAndService, openCliFolder } from '../support/cli.ts';
import { closedPort } from '../support/closed-port.ts';
import { listen } from '../support/listen.ts';
import { runOnServer, urlAs } from '../support/postgres.ts';

const { simulator, folder, database } = await openCliAndService({ calls: { count: 20 } });

const configOf = (over: { source?: object; store?: object; temporal?: object } = {}) => ({
  source: { ...sourceOf(simulator), limits: { retries: 1, retry_base_ms: 10, retry_max_ms: 20 }, ...over.source },
  store: { url: database.url, ...over.store },
  ...(over.temporal && { temporal: over.temporal }),
});

const closed = `http://127.0.0.1:${closedPort}`;

/** The next step stands on a line of its own. */
const joined = (stderr: string): string => stderr.replaceAll('\n  ', ' ');

const expectFailure = (result: CliResult, code: number, sentence: RegExp): void => {
  expect(joined(result.stderr)).toMatch(sentence);
  expect(result.stderr).toMatch(/^callsync: [A-Z_]+: \S.*\n {2}\S.*\n/m);
  expect(result.stderr).not.toMatch(/^\s+at |node:internal|\.js:\d+|Unexpected fault/m);
  expect(result).toMatchObject({ stdout: '', code });
  const said = result.stderr.split('\n').filter((line) => line.startsWith('callsync:'));
  expect(said).toEqual([expect.stringMatching(/^callsync: [A-Z_]+: \S/)]);
};

describe('a failure is a code with one clear sentence, and the next step', () => {
  test('no configuration', async () => {
    const empty = await openCliFolder();
    expectFailure(await empty.run(['status']), 2, /There is no configuration: .* does not exist\. Run callsync init/);
    expectFailure(await empty.run(['status', '--config', 'else.yaml']), 2, /else\.yaml does not exist/);
    await empty.remove();
  });

  test('a range that ends before it begins', async () => {
    await folder.configure(configOf());
    const range = ['--from', '2025-02-01', '--to', '2025-01-01'];
    expectFailure(await folder.run(['search', 'contrat', ...range]), 2, /The range is empty/);
    expectFailure(await folder.run(['export', 'out', ...range]), 2, /The range is empty/);
  });

  test.each([
    ['an open quote', 'source:\n  base_url: "http://x\n', /line \d+: this is not valid YAML .*Close the quote/],
    ['a tab', 'source:\n\tbase_url: http://x\n', /line 2: this is not valid YAML .*does not allow tabs/],
  ])('YAML with %s names the line and the mistake', async (_, text, sentence) => {
    await folder.write('callsync.yaml', text);
    expectFailure(await folder.run(['status']), 2, sentence);
  });

  test('wrong arguments of every kind are one sentence, with exit code 2', async () => {
    await folder.configure({ ...configOf(), webhook: { secrets: [{ name: 'main', secret: 'x' }] } });
    const wrong: readonly (readonly [RegExp, ...string[]])[] = [
      [/unknown command 'nonsense'/, 'nonsense'],
      [/unknown command 'nonsense'/, 'help', 'nonsense'],
      [/unknown command 'nonsense'/, 'nonsense', '--help'],
      [/unknown option '--config'/, '--config', 'else.yaml', 'status'],
      [/required option '--by <kind>' not specified/, 'erase'],
      [/unknown option '--reson'/, 'privacy', 'hold', 'add', '--by', 'call', '--reson', 'x'],
      [/whole number/, 'probe', '--max-requests', 'many'],
      [/whole number from 1 to 256/, 'backfill', '--from', '2025-01-01', '--concurrency', 'abc'],
      [/whole number from 1 to 256/, 'backfill', 'concurrency', 'some', '0'],
      [/no axis “nope”/, 'backfill', '--from', '2025-01-01', '--axis', 'nope'],
      [/--calls .* whole number/, 'simulate', '--calls', 'many'],
      [/--port .* whole number from 0 to 65535/, 'simulate', '--port', '70000'],
      [/live: Unrecognized key: "rate"; Unrecognized key: "no"\./, 'simulate', '--options', '{live: {rate: 5}, no: 1}'],
      [/live\.callsPerSecond: expected number/, 'simulate', '--options', '{live: {callsPerSecond: many}}'],
      [/--options is not valid YAML or JSON/, 'simulate', '--options', '{live: '],
      [/no dialect named nope\. Choose one of: activate/, 'simulate', '--dialect', 'nope'],
      [/The day has not begun/, 'coverage', '--day', '2099-01-01'],
      [new RegExp(`Port ${simulator.port} is taken`), 'simulate', '--port', String(simulator.port)],
    ];
    for (const [sentence, ...args] of wrong) {
      const { code, stdout, stderr } = await folder.run(args);
      expect(joined(stderr), args.join(' ')).toMatch(sentence);
      expect(stderr, args.join(' ')).not.toMatch(/^\s+at |node:internal|Unexpected fault/m);
      expect(stderr.split('\n').length, stderr).toBeLessThan(4);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
    }
  });

  const address = { base_url: 'https://api.example.com' };
  const receiver = { source: { ...address, client_secret_file: '/no/secret' }, webhook: { allow_unsigned: true } };
  const signed = { webhook: { secrets: [{ name: 'main', secret_file: './signing' }] } };
  const off = { webhook: { enabled: false } };

  test.each<[string, object, ...RegExp[]]>([
    [
      'files of secrets that are not there, or empty',
      { ...configOf({ source: { client_secret: undefined, client_secret_file: '/no/secret' } }), ...signed },
      ...[/source\.client_secret_file: \/no\/secret does not exist/, /secrets\[0\]\.secret_file: \.\/signing is empty/],
    ],
    ['the file of a receiver, which has no credentials', receiver, /CONFIG_CREDENTIALS: .*source\.client_id/],
    ['missing credentials', { source: address }, /: source\.client_id, source\.client_secret_file, webhook\.secrets\./],
    ['no country', { ...configOf(), ...off, privacy: { countries: ['XX'] } }, /INVALID: privacy\.countries/],
  ])('config check refuses %s', async (_, config, ...sentences) => {
    await folder.write('signing', '\n');
    await folder.configure(config);
    const result = await folder.run(['config', 'check']);
    for (const sentence of sentences) expectFailure(result, 2, sentence);
  });

  test('config check takes what is whole, also without webhooks, and for a receiver without the service', async () => {
    await folder.write('signing', 'a secret');
    for (const [config, ...options] of [
      [{ ...configOf(), ...signed }],
      [{ ...configOf(), ...off }],
      [receiver, '--receiver'],
    ] as const) {
      await folder.configure(config);
      expect(await folder.run(['config', 'check', ...options])).toMatchObject({ code: 0, stderr: '' });
    }
  });

  test('doctor takes the file of a receiver, also under the role that only adds deliveries', async () => {
    const role = `receiver_${process.pid}`;
    await folder.configure(configOf());
    await folder.write('password', 'its password');
    const grants = ['store', '--apply', '--role', role, '--password-file', 'password'];
    expect(await folder.run(grants)).toMatchObject({ code: 0 });
    onTestFinished(async () => void (await runOnServer(database.adminUrl, `DROP OWNED BY ${role}; DROP ROLE ${role}`)));
    const webhook = { secrets: [{ name: 'main', secret: 'a signing secret' }], public_url: `${closed}/webhook` };
    const examine = async (url: string) => {
      const store = { url, data_dir: folder.path };
      await folder.configure({ webhook, store, operations: { listen: '0.0.0.0', port: 0 } });
      const { stdout } = await folder.run(['doctor', '--receiver', '--json']);
      const { findings } = JSON.parse(stdout) as { findings: { check: string; outcome: string; message: string }[] };
      return Object.fromEntries(findings.map((one) => [one.check, `${one.outcome} ${one.message}`]));
    };
    const said = await examine(database.url);
    expect(said).toEqual({
      config: expect.stringMatching('ok Valid for a receiver'),
      'webhook keys': 'ok In force: main.',
      'webhook address': expect.stringMatching('warning '),
      'webhook round trip': expect.stringMatching('failed .* cannot be reached'),
      store: 'ok The inbox takes deliveries.',
      spool: expect.stringMatching(/free for .*spool/),
      operations: 'warning Everybody who reaches 0.0.0.0:0 can read the metrics.',
    });
    const href = urlAs(database.url, role, 'its password');
    const lean = 'skipped The role in store.url may not remove a sample. Run callsync doctor where a worker runs.';
    expect(await examine(href)).toEqual({ ...said, 'webhook round trip': lean, spool: expect.any(String) });
    await runOnServer(database.url, `REVOKE INSERT ON callsync.inbox FROM ${role}`);
    expect((await examine(href)).store).toMatch(/^failed .*permission/);
  });

  // A recursive mkdir never returned there.
  test.runIf(process.platform === 'linux')('demo at a path that cannot be written says so at once', async () => {
    const result = await folder.run(['demo', '--exit', '--data-dir', '/proc/none']);
    expectFailure(result, 2, /CONFIG_DATA_DIR: .*\/proc\/none\/demo cannot be made or written to/);
  });

  test('refused credentials', async () => {
    await folder.configure(configOf({ source: { client_secret: 'not-the-secret' } }));
    const result = await folder.run(['probe']);
    expectFailure(result, 3, /refuse/);
    expect(result.stderr).not.toContain('not-the-secret');
  });

  test('a database that refuses connections, the user, or does not exist', async () => {
    await folder.configure(configOf({ store: { url: `postgres://me:secret-word@127.0.0.1:${closedPort}/x` } }));
    const away = await folder.run(['status']);
    expectFailure(away, 4, /DATABASE_UNREACHABLE: .*store does not answer .*Start PostgreSQL or correct its address/);
    expect(away.stderr).not.toContain('secret-word');

    const configure = (parts: Partial<URL>) =>
      folder.configure(configOf({ store: { url: Object.assign(new URL(database.url), parts).href } }));
    await configure({ pathname: '/no_such_database' });
    expectFailure(await folder.run(['status']), 6, /DATABASE_MISSING: .*database of the store does not exist/);
    await configure({ username: 'nobody_of_that_name', password: 'secret-word' });
    expect((await folder.json(['status'], { code: 3 })).error.code).toBe('DATABASE_CREDENTIALS');
  });
});

/** In a folder of its own, beside the others. */
const inFolder = async (use: (folder: CliFolder) => Promise<void>): Promise<void> => {
  const own = await openCliFolder();
  await use(own).finally(own.remove);
};

// Each of these waits for somebody who does not answer.
describe('where nobody answers, a failure is one clear sentence', { concurrent: true }, () => {
  test('a store that holds the calls of another service, until that is the same one', () =>
    inFolder(async (folder) => {
      const records = await folder.write('records.ndjson', '');
      const otherUrl = 'https://other.example.com';
      const service = { ...configOf().source, base_url: `${simulator.url}/` };
      const configure = (over: object) =>
        folder.configure({ ...configOf({ temporal: { address: '127.0.0.1:1' } }), source: { ...service, ...over } });
      await configure({});
      expect(await folder.run(['import', records])).toMatchObject({ code: 0 });
      await configure({ base_url: simulator.url });
      expect(await folder.run(['import', records])).toMatchObject({ code: 0 });
      for (const over of [{ base_url: otherUrl }, { realm: 'other' }, { client_id: 'other' }]) {
        await configure(over);
        const why =
          /CONFIG_SOURCE: .* another service .*(was|client_id is new).* new client id, start .*--accept-source.*store\.data_dir/;
        for (const words of [['import', records], ['worker'], ['up', '--no-schedules']])
          expectFailure(await folder.run(words), 2, why);
      }
      const { stdout } = await folder.run(['doctor', '--json']);
      expect(stdout).toMatch(/"check":"store","outcome":"failed","message":"The store holds calls of another service/);
      await configure({ base_url: otherUrl });
      expect(await folder.run(['import', '--accept-source', records])).toMatchObject({ code: 0 });
      expect(await folder.run(['import', records])).toMatchObject({ code: 0 });
      await configure({});
      expectFailure(await folder.run(['import', records]), 2, /source\.base_url was https:\/\/other/);
      expect(await folder.run(['import', '--accept-source', records])).toMatchObject({ code: 0 });
    }));

  test.each([
    ['4 where nothing answers', 4, { base_url: closed, auth_url: closed }],
    ['3 where something refuses', 3, { client_secret: 'not-the-secret' }],
  ])('doctor ends with %s', (_, code, source) =>
    inFolder(async (folder) => {
      const store = { url: `postgres://x:y@127.0.0.1:${closedPort}/z`, data_dir: folder.path };
      const temporal = { address: `127.0.0.1:${closedPort}` };
      // Another test may have the usual port.
      const without = { webhook: { enabled: false }, operations: { enabled: false } };
      await folder.configure({ ...configOf({ source, store, temporal }), ...without });
      const said = await folder.run(['doctor', '--json']);
      expect(said.code, said.stdout).toBe(code);
    }),
  );

  test('a service that refuses connections, and one whose name does not exist', () =>
    inFolder(async (folder) => {
      await folder.configure(configOf({ source: { base_url: closed } }));
      expectFailure(await folder.run(['probe']), 4, new RegExp(`127\\.0\\.0\\.1:${closedPort}`));
      await folder.configure(configOf({ source: { auth_url: 'https://no-such-host.invalid' } }));
      expectFailure(await folder.run(['probe']), 4, /SERVICE_UNREACHABLE: no-such-host\.invalid/);
    }));

  const temporalAway = /The Temporal server at 127\.0\.0\.1:\d+ does not answer\. Start it or correct temporal.address/;

  test('a Temporal server that refuses connections, or never answers', () =>
    inFolder(async (folder) => {
      await folder.configure(configOf({ temporal: { address: `127.0.0.1:${closedPort}` } }));
      expectFailure(await folder.run(['backfill', 'pause', 'x']), 4, temporalAway);
      const mute = await listen(() => undefined);
      // It takes connections and says nothing: as a server of HTTP/1 it would refuse gRPC at once.
      mute.server.removeAllListeners('connection');
      await folder.configure(configOf({ temporal: { address: new URL(mute.url).host } }));
      expectFailure(await folder.run(['backfill', '--from', '2025-01-01']), 4, temporalAway);
      mute.server.close();
    }));
});
