/**
 * Counts the functions and files of ours that one more polled call and one more webhook delivery enter. The call is
 * either new, or known from a poll. That is how much code a reader has to pass. Options: --list, --json FILE. It uses
 * real PostgreSQL, the simulated service in a process of its own, and the receiver on a real socket. The use cases are
 * called as the activities call them. From both is taken away what an empty page, and an inbox in which nothing waits,
 * enter too. About 15 s.
 */
import { createHmac } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { activityDeps, openWarehouses } from '../src/app/activity-deps.ts';
import { openReceiver } from '../src/app/open-receiver.ts';
import { openSource } from '../src/app/open-source.ts';
import { createServices, openStoreService } from '../src/app/services.ts';
import { checkConfig } from '../src/config/load.ts';
import { startEmbeddedPostgres } from '../src/local/embedded-postgres.ts';
import { mergeInbox } from '../src/pipeline/load/merge-inbox.ts';
import { readRangePart } from '../src/pipeline/read/read-range-part.ts';
import { createRemoteControl } from '../src/simulator/control/remote-control.ts';
import { sourceOf, startSimulatorProcess } from '../src/simulator/demo/simulator-process.ts';
import { applyPreset } from '../src/source/presets/presets.ts';
import { listenToInbox } from '../src/store/delivery/inbox-writer.ts';
import { compareRuns, type Difference, type EnteredFunction, startRecorder } from './functions/entered.ts';
import { makeCallBodies } from './webhook/bodies.ts';

const { values: flags } = parseArgs({
  options: { json: { type: 'string' }, list: { type: 'boolean', default: false } },
});
/** Runs of each kind; the first of them fill caches and are not counted. */
const warmUps = 2;
const rounds = 3;
const second = 1_000_000;
const secret = 'bench-signing-secret';

const folder = await mkdtemp(join(tmpdir(), 'callsync-bench-functions-'));
// PostgreSQL may run as another account, which has to get through.
await chmod(folder, 0o711);
const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), durable: false });
const simulator = await startSimulatorProcess({ calls: { count: 40, density: 'even', lateShare: 0 } });
const settings = {
  source: { ...sourceOf(simulator), list: { preset: 'activate' } },
  store: { url: postgres.url, data_dir: folder },
  warehouses: { postgres: { type: 'postgres', url: postgres.url } },
  webhook: { port: 0, secrets: [{ name: 'bench', secret }] },
  operations: { enabled: false },
};
const config = checkConfig(await applyPreset(settings), 'the bench');
const services = createServices(
  config,
  () => undefined,
  () => undefined,
);

const byFile = (functions: readonly EnteredFunction[]): Map<string, EnteredFunction[]> => {
  const files = new Map<string, EnteredFunction[]>();
  for (const one of functions) files.set(one.file, [...(files.get(one.file) ?? []), one]);
  return new Map([...files].sort(([left], [right]) => (left < right ? -1 : 1)));
};

const count = (functions: readonly EnteredFunction[]) => {
  const named = functions.filter(({ name }) => name !== '');
  return {
    exported: named.filter(({ exported }) => exported).length,
    functions: named.length,
    callbacks: functions.length - named.length,
    files: byFile(functions).size,
  };
};

const show = (what: string, { only, more }: Difference) => {
  const figures = { only: count(only), more: count(more) };
  const say = ({ exported, functions, callbacks, files }: ReturnType<typeof count>): string =>
    `${exported} exported functions, ${functions} with the private ones and methods, in ${files} files (${callbacks} unnamed callbacks)`;
  console.log(
    `${what}\n  not entered without it: ${say(figures.only)}\n  entered more often:     ${say(figures.more)}`,
  );
  if (flags.list) {
    for (const [file, functions] of byFile(only)) {
      const names = functions.map(
        ({ name, line, exported }) => `${exported ? '*' : ''}${name === '' ? '()' : name}:${line}`,
      );
      console.log(`    ${file}: ${names.join(' ')}`);
    }
  }
  return figures;
};

try {
  const store = await openStoreService(services);
  const targets = await openWarehouses(services, store);
  const source = openSource(services, store);
  const deps = activityDeps(services, { store, targets, source });
  let woken = () => {};
  const receiver = await openReceiver(services, {
    storeUrl: store.url,
    logLevel: 'warn',
  });

  services.defer(listenToInbox(store.pool, () => woken(), console.error).stop);
  const url = `${receiver.address}${config.webhook.path}`;

  const listed: { readonly callId: string; readonly time: number }[] = [];
  for await (const entry of createRemoteControl(simulator).truth({ light: true })) {
    if (entry.visibleInList && ['qualified', 'void'].includes(entry.status))
      listed.push({ callId: entry.callId, time: Date.parse(entry.qualified) * 1000 });
  }
  const alone = listed.filter((one) =>
    listed.every((other) => other === one || Math.abs(other.time - one.time) > 300 * second),
  );
  const read = async (from: number, expected: number): Promise<void> => {
    const { totals } = await readRangePart(
      deps,
      {
        axis: 'qualified',
        range: { from, to: from + second },
        direction: 'oldest_first',
        origin: 'bench',
        force: false,
        maxCalls: 1_000,
        maxSeconds: 60,
      },
      { signal: new AbortController().signal, attempt: 1, onProgress: () => undefined },
    );
    if (totals.calls !== expected) throw new Error(`${totals.calls} calls were read, not ${expected}.`);
  };
  const merge = async (expected: number): Promise<void> => {
    const { deliveries } = await mergeInbox(deps);
    if (deliveries !== expected) throw new Error(`${deliveries} deliveries were merged, not ${expected}.`);
  };
  const bodyOf = (callId: string): Buffer => {
    const [body = Buffer.of()] = makeCallBodies(1);
    return Buffer.from(JSON.stringify({ ...JSON.parse(body.toString('utf8')), unique_id: callId }));
  };
  const deliver = async (body: Buffer): Promise<void> => {
    const stored = new Promise<void>((resolve) => {
      woken = resolve;
    });
    const answer = await fetch(url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        [`${config.webhook.header_prefix}hook-id`]: 'bench',
        [`${config.webhook.header_prefix}delivery`]: (Date.now() / 1000).toFixed(3),
        [`${config.webhook.header_prefix}signature`]: `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      },
    });
    if (!answer.ok) throw new Error(`A delivery was answered ${answer.status}.`);
    await stored;
    await merge(1);
  };

  const recorder = await startRecorder();
  const polled = [];
  const delivered = [];
  const known = [];
  for (let round = 0; round < warmUps + rounds; round += 1) {
    const call = alone[round];
    if (call === undefined) throw new Error('Too few calls have no neighbour within five minutes.');
    const { time } = call;
    const bodies = { fresh: bodyOf(`new-${round}`), known: bodyOf(call.callId) };
    const poll = {
      empty: await recorder.record(() => read(time - 120 * second, 0)),
      one: await recorder.record(() => read(time, 1)),
    };
    const empty = await recorder.record(() => merge(0));
    const delivery = { empty, one: await recorder.record(() => deliver(bodies.fresh)) };
    const again = { empty, one: await recorder.record(() => deliver(bodies.known)) };
    if (round < warmUps) continue;
    polled.push(poll);
    delivered.push(delivery);
    known.push(again);
  }
  await recorder.stop();
  const figures = {
    polled: show('one more polled call', compareRuns(polled)),
    delivery: show('one more delivery, of a new call', compareRuns(delivered)),
    known: show('one more delivery, of a call that was polled', compareRuns(known)),
  };
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(figures, undefined, 2)}\n`);
} finally {
  await services.close();
  await simulator.stop();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
