/** A backfill during which the Temporal server is killed and restarted, some number of times. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { progressQuery } from '../../workflows/messages.ts';
import { type Installation, install } from '../support/installation.ts';
import { type OwnTemporal, startTemporal } from '../support/temporal.ts';

export interface KilledServer {
  readonly kills: number;
  /** Otherwise the kills came too late to show anything. */
  readonly runningAtLastRestart: boolean;
  /** From the last restart to the end of the backfill. */
  readonly secondsAfterLastRestart: number;
  /** What the same backfill takes undisturbed; the work left cannot be more. */
  readonly secondsUndisturbed: number;
}

export const killTemporalDuringBackfill = async (kills: number, calls: number): Promise<KilledServer> => {
  let server: OwnTemporal = await startTemporal();
  let site: Installation | undefined;
  try {
    site = await install({
      temporalAddress: server.address,
      simulator: { seed: 9, calls: { count: calls, utterances: 4 }, rateLimit: { requests: 0 } },
      // Slow enough that the last kill still finds work to do.
      source: { limits: { requests: 5, per_s: 1 } },
      config: { sync: { window: { target_calls: 50 } } },
    });
    await site.startWorker();
    const begin = performance.now();
    await (await site.backfill('undisturbed')).result;
    const secondsUndisturbed = (performance.now() - begin) / 1000;

    const { workflowId } = await site.backfill('killed', { force: true });
    const port = Number(server.address.split(':')[1]);
    for (let kill = 0; kill < kills; kill += 1) {
      await delay(300 + Math.random() * 700);
      process.kill(server.pid, 'SIGKILL');
      server = await startTemporal({ port, dataDir: server.dataDir });
    }
    const restarted = performance.now();
    const handle = site.client.workflow.getHandle(workflowId);
    const runningAtLastRestart = (await handle.describe()).status.name === 'RUNNING';
    for (;;) {
      try {
        await handle.result();
        break;
      } catch (error) {
        // Only the client's own connection may have suffered.
        if (!/UNAVAILABLE|DEADLINE|connect|reset|dropped/i.test(String(error) + String((error as Error).cause)))
          throw error;
      }
    }
    const secondsAfterLastRestart = (performance.now() - restarted) / 1000;
    expect((await handle.query(progressQuery)).state).toBe('done');
    expect(await site.checkTruth()).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
    return { kills, runningAtLastRestart, secondsAfterLastRestart, secondsUndisturbed };
  } finally {
    await site?.dispose();
    await server.dispose();
  }
};
