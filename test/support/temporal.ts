/**
 * One Temporal development server for a whole vitest run, started when the first test asks for it.
 *
 *   const temporal = await useTemporal();      // in beforeAll: { address, namespace, taskQueue }
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { inject, onTestFinished } from 'vitest';
import type { TestProject } from 'vitest/node';
import { locateTemporalCli, startTemporalDevServer } from '../../src/local/temporal-server.ts';
import { knock, openDoor } from './shared-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    temporalDoor: string;
  }
}

export type TestTemporal = Awaited<ReturnType<typeof useTemporal>>;

/** The shared server. Workflow ids are the test's own business: put `taskQueue` in them. */
export const useTemporal = async () => {
  const address = await knock<string>(inject('temporalDoor'));
  // Nobody else's: a prefix for every queue of the test file.
  return { address, namespace: 'default', taskQueue: `test-${randomBytes(6).toString('hex')}` };
};

/** @param options.dataDir of one that was killed: it is started again. */
const startTemporal = async (options: { port?: number; dataDir?: string } = {}) => {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'callsync-temporal-')));
  const server = await startTemporalDevServer({ ...options, dataDir, headless: true, log: console.error });
  return {
    ...server,
    dataDir,
    /** Also removes its data. */
    async dispose() {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

/** A server of one's own until the end of the test, which can be killed. */
export const temporalForTest = async () => {
  let server = await startTemporal();
  onTestFinished(() => server.dispose());
  return {
    address: server.address,
    /** Kills the server and starts another on its data and port. The use of the killed one ends, or the other would outlive us. */
    restart: async (downMs = 0): Promise<void> => {
      const killed = server;
      process.kill(killed.pid, 'SIGKILL');
      await delay(downMs);
      server = await startTemporal({ port: Number(killed.address.split(':')[1]), dataDir: killed.dataDir });
      await killed.stop();
    },
  };
};

/** The server's own list of the times at which a schedule is due. */
export const listDue = async (
  { workflowService }: Client,
  scheduleId: string,
  from: Date,
  to: Date,
): Promise<string[]> => {
  const [startTime, endTime] = [from, to].map((at) => ({ seconds: Math.floor(at.getTime() / 1000) as never }));
  const asked = { namespace: 'default', scheduleId, startTime, endTime };
  const due = (await workflowService.listScheduleMatchingTimes(asked)).startTime ?? [];
  return due.map(({ seconds }) => new Date(Number(seconds) * 1000).toISOString());
};

/** vitest's globalSetup. */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  // A build of the server takes minutes, here once and under no test's time limit. Without it, the tests that need it say why.
  await locateTemporalCli({ log: console.error }).catch(() => undefined);
  const door = await openDoor<string>(async () => {
    const server = await startTemporal();
    return { facts: server.address, dispose: server.dispose };
  });
  project.provide('temporalDoor', door.url);
  return door.close;
};
