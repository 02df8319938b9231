/** Processor seconds of a load by part: those of the worker from profiles of its threads, those of PostgreSQL from its processes. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { type ProcessorTime, readSeconds } from './processor.ts';

/** The innermost function of a stack that fits one counts; of several that it fits, the first. */
const parts: readonly (readonly [part: string, of: RegExp])[] = [
  ['collector', /^\(garbage collector\)/],
  ['packing', /node:zlib/],
  ['hash', /node:internal\/crypto|^(hashJson|contentHash|addRow|addText|addWords|addNumber) /],
  ['scan', /page-body|json-record|parse-json|list\/observe/],
  ['rules', /src\/privacy\//],
  ['flatten', /calls\/flatten/],
  ['encode', /encoder|binary-copy/],
  ['fold', /src\/calls\//],
  ['ledger', /src\/store\//],
  ['driver', /node_modules\/pg|src\/postgres\//],
  ['Temporal', /@temporalio|workflow-bundle|activities\//],
  ['service', /src\/source\/|undici/],
];

/** Seconds by part while the thread was not idle, by the clock. */
const sumUp = ({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Map<string, number> => {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const partOf = new Map<number, string>();
  const visit = (id: number, around: string): void => {
    const node = byId.get(id);
    if (node === undefined) return;
    const { functionName, url } = node.callFrame;
    const part = parts.find(([, of]) => of.test(`${functionName} ${url}`))?.[0] ?? around;
    // A thread of a pool waits without a processor.
    partOf.set(id, /^(\(idle\)|atomicsWaitLoop)$/.test(functionName) ? 'idle' : part);
    for (const child of node.children ?? []) visit(child, part);
  };
  visit(nodes[0]?.id ?? 0, 'Node and others');
  const times = new Map<string, number>();
  for (const [at, id] of samples.entries()) {
    const part = partOf.get(id) ?? '';
    times.set(part, (times.get(part) ?? 0) + (timeDeltas[at] ?? 0) / 1e6);
  }
  times.delete('idle');
  return times;
};

/** Processor seconds of the server's processes, by what their sessions are for. */
const readServer = async (url: string): Promise<ReadonlyMap<string, readonly [kind: string, seconds: number]>> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client
    .query<{ pid: number; kind: string }>(
      `SELECT pid, coalesce(nullif(application_name, ''), 'log and checkpoints') AS kind FROM pg_stat_activity WHERE pid <> pg_backend_pid()`,
    )
    .finally(() => client.end());
  return new Map(rows.map(({ pid, kind }) => [String(pid), [kind, readSeconds(pid)]]));
};

/** For a worker that starts with `options` and `env`: `lap` begins anew, and `read` gives the seconds by part since then. */
export const openProfile = (folder: string, url: string, calls: number) => {
  mkdirSync(folder, { recursive: true });
  let laps = 0;
  let before: Awaited<ReturnType<typeof readServer>> = new Map();
  const lap = async (pid: number): Promise<Profiler.Profile[]> => {
    process.kill(pid, 'SIGUSR2');
    const path = join(folder, `${laps}.json`);
    laps += 1;
    while (!existsSync(path)) await delay(50);
    before = await readServer(url);
    return JSON.parse(readFileSync(path, 'utf8')) as Profiler.Profile[];
  };
  return {
    options: ['--import', fileURLToPath(new URL('profiled.js', import.meta.url))],
    env: { CALLSYNC_PROFILES: folder },
    lap,
    /** A line for each part: processor seconds of 1,000 calls. @param used since `lap` */
    read: async (pid: number, used: ProcessorTime): Promise<string[]> => {
      const server = before;
      const [main = new Map<string, number>(), ...threads] = (await lap(pid)).map(sumUp);
      const sum = (times: ReadonlyMap<string, number>): number =>
        [...times.values()].reduce((all, one) => all + one, 0);
      // The clock also counts the time in which others had the processor: by the main thread, how much that is.
      const share = used.worker_main / sum(main);
      const found = new Map<string, number>();
      const add = (part: string, seconds: number) => found.set(part, (found.get(part) ?? 0) + seconds);
      for (const times of [main, ...threads]) for (const [part, seconds] of times) add(part, seconds * share);
      add('helpers of V8, native threads', used.worker_main + used.worker_threads - sum(found));
      for (const [id, [kind, seconds]] of before) add(`PostgreSQL: ${kind}`, seconds - (server.get(id)?.[1] ?? 0));
      add('Temporal: server', used.temporal);
      const most = [...found].sort(([, a], [, b]) => b - a).filter(([, seconds]) => seconds >= 0.01);
      return most.map(([part, seconds]) => `${part.padEnd(36)} ${((seconds * 1000) / calls).toFixed(3)}`);
    },
  };
};
