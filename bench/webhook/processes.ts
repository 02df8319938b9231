/** The processes of the webhook benchmarks: servers that are measured, and the sender that measures them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { LoadOrder, LoadResult } from './load.ts';

export interface BenchServer {
  readonly port: number;
  /** Of the operations port, where the server has one. */
  readonly operations?: string;
  /** Seconds of processor time that the process has used so far, on all its threads. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
}

/** @param path below bench/, without its ending. */
export const runBenchProcess = (path: string, args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [join(import.meta.dirname, '..', `${path}.js`), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });

/** @param args what `webhook/server.ts` takes. */
export const startBenchServer = async (...args: readonly string[]): Promise<BenchServer> => {
  const child = runBenchProcess('webhook/server', args);
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const nextLine = async (): Promise<string> => ((await once(lines, 'line')) as [string])[0];
  const line = await nextLine();
  return {
    ...(JSON.parse(line) as { port: number; operations?: string }),
    async cpuSeconds() {
      const answer = nextLine();
      child.stdin?.write('cpu\n');
      return Number(await answer);
    },
    async stop() {
      const ended = once(child, 'exit');
      child.stdin?.end();
      await ended;
    },
  };
};

/** How long a sender measures, and how long it warms up first: at most a second. */
export const lasting = (seconds: number): Pick<LoadOrder, 'seconds' | 'warmUpSeconds'> => ({
  seconds,
  warmUpSeconds: Math.min(1, seconds),
});

export const measureLoad = async (order: LoadOrder): Promise<LoadResult> => {
  const child = runBenchProcess('webhook/load', []);
  child.stdin?.end(JSON.stringify(order));
  return JSON.parse(await text(child.stdout as NodeJS.ReadableStream)) as LoadResult;
};

export const median = (numbers: readonly number[]): number => {
  const sorted = [...numbers].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
};

export const showLoad = (name: string, result: LoadResult): void =>
  console.log(
    `${name.padEnd(12)} ${result.perSecond.toFixed(0).padStart(6)}/s  p50 ${result.p50Ms.toFixed(1)} ms  ` +
      `p99 ${result.p99Ms.toFixed(1)} ms  answers ${JSON.stringify(result.answers)}`,
  );

export const round2 = (value: number): number => Math.round(value * 100) / 100;
