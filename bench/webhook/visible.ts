/** From a webhook answered to its call visible in the warehouse: `callsync up` in a process of its own, 50 a second. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { sendWebhook } from '../../src/lib/send-webhook.ts';
import { startTemporalDevServer } from '../../src/local/temporal-server.ts';
import { openPool } from '../../src/postgres/database.ts';
import { makeCallBodies } from './bodies.ts';

/** Of the deliveries from the fourth second on. */
export interface Visibility {
  readonly p50Seconds: number;
  readonly p95Seconds: number;
  /** Of all deliveries, from the first on. */
  readonly p95FromStartSeconds: number;
  readonly deliveries: number;
}

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const perSecond = 50;
const pollMs = 50;
const deadlineMs = 60_000;
/** The first deliveries after a start wait while code is compiled: they are counted by themselves. */
const longestWarmUp = 3;

const quantile = (numbers: readonly number[], share: number): number =>
  [...numbers].sort((left, right) => left - right)[Math.floor(numbers.length * share)] ?? 0;

/** @param input.url of a server whose store may be filled. Throws when a call is not visible a minute after the last. */
export const measureVisibility = async (input: {
  url: string;
  folder: string;
  seconds: number;
  /** Section `privacy` of the configuration; by default no rules. */
  privacy?: object;
}): Promise<Visibility> => {
  const { url, folder, seconds, privacy } = input;
  const warmUpSeconds = Math.min(longestWarmUp, seconds);
  const secret = 'bench-signing-secret';
  const temporal = await startTemporalDevServer({ dataDir: join(folder, 'temporal'), headless: true });
  const path = join(folder, 'up.yaml');
  await writeFile(join(folder, 'privacy.key'), randomBytes(32), { mode: 0o600 });
  const config = {
    source: { base_url: 'http://127.0.0.1:9', token: 'none' },
    store: { url },
    temporal: { address: temporal.address },
    webhook: { port: 0, secrets: [{ name: 'bench', secret }], spool: { dir: join(folder, 'up-spool') } },
    operations: { enabled: false },
    ...(privacy === undefined ? {} : { privacy: { ...privacy, key_file: join(folder, 'privacy.key') } }),
  };
  await writeFile(path, stringify(config), { mode: 0o600 });
  const up = spawn(process.execPath, [main, 'up', '--no-schedules', '--config', path, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pool = openPool({ url, schema: 'calls', application: 'bench', purpose: 'warehouse', max: 2 });
  try {
    const [line] = (await once(createInterface({ input: up.stdout }), 'line')) as [string];
    const { webhook } = JSON.parse(line) as { webhook: string };
    const answered = new Map<string, { readonly at: number; readonly isWarm: boolean }>();
    const warm: number[] = [];
    const cold: number[] = [];
    let visible = 0;
    const look = async () => {
      const { rows } = await pool.query<{ id: string }>('SELECT call_id AS id FROM calls WHERE call_id = ANY($1)', [
        [...answered.keys()],
      ]);
      const now = performance.now();
      for (const { id } of rows) {
        const answer = answered.get(id);
        if (answer !== undefined) (answer.isWarm ? warm : cold).push((now - answer.at) / 1_000);
        answered.delete(id);
        visible += 1;
      }
    };
    const count = (warmUpSeconds + seconds) * perSecond;
    const bodies = makeCallBodies(count);
    const startedAt = performance.now();
    const sending = Promise.all(
      bodies.map(async (body, index) => {
        await sleep((index * 1_000) / perSecond);
        const { delivered } = await sendWebhook({ url: webhook, body, secret });
        if (!delivered) throw new Error('A delivery was not taken.');
        const id = (JSON.parse(body.toString('utf8')) as { unique_id: string }).unique_id;
        answered.set(id, { at: performance.now(), isWarm: index >= warmUpSeconds * perSecond });
      }),
    );
    while (visible < count) {
      if (performance.now() - startedAt > (warmUpSeconds + seconds) * 1_000 + deadlineMs) {
        throw new Error(`${count - visible} of ${count} calls did not become visible.`);
      }
      await look();
      await Promise.race([sending.then(() => sleep(pollMs)), sleep(pollMs)]);
    }
    return {
      p50Seconds: quantile(warm, 0.5),
      p95Seconds: quantile(warm, 0.95),
      p95FromStartSeconds: quantile([...cold, ...warm], 0.95),
      deliveries: warm.length,
    };
  } finally {
    await pool.end();
    if (up.exitCode === null) {
      const exited = once(up, 'exit');
      up.kill('SIGTERM');
      await exited;
    }
    await temporal.stop();
  }
};
