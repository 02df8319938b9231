/** A backfill during which the Temporal server is killed and restarted, some number of times. */
import { expect } from 'vitest';
import { progressQuery } from '../../workflows/messages.ts';
import { type Installation, install, until } from '../support/installation.ts';
import { settledRange } from '../support/settled-range.ts';
import { type OwnTemporal, startTemporal } from '../support/temporal.ts';

export interface KilledServer {
  readonly kills: number;
  /** Otherwise the kills came too late to show anything. */
  readonly runningAtLastRestart: boolean;
  /** Of the requests that the backfill takes undisturbed, those that were still to be made at the last restart: 0 to 1. */
  readonly shareLeft: number;
  /** From the last restart to the end of the backfill. */
  readonly secondsAfterLastRestart: number;
  /** Requests of the same backfill without a fault; the work left cannot be more. */
  readonly secondsUndisturbed: number;
}

/** The backfill is held where it is by the requests that it is granted, so that half of it is left after the last kill. */
export const killTemporalDuringBackfill = async (kills: number, calls: number): Promise<KilledServer> => {
  let server: OwnTemporal = await startTemporal();
  let site: Installation | undefined;
  try {
    site = await install({
      temporalAddress: server.address,
      simulator: { seed: 9, calls: { count: calls, utterances: 4, ...settledRange }, rateLimit: { requests: 0 } },
      // A request that waits for its grant does not time out.
      source: { limits: { requests: 5, per_s: 1, headers_timeout_s: 600, total_timeout_s: 600 } },
      config: { sync: { window: { target_calls: 50 } } },
    });
    const { gate } = site;
    const worker = await site.startWorker();
    let printed = '';
    worker.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString('utf8');
    });
    const begin = performance.now();
    await (await site.backfill('undisturbed')).result;
    const secondsUndisturbed = (performance.now() - begin) / 1000;
    const whole = gate.passed();
    const share = Math.floor(whole / 2 / kills);
    expect(share).toBeGreaterThan(2);

    gate.shut();
    const { workflowId } = await site.backfill('killed', { force: true });
    for (let kill = 0; kill < kills; kill += 1) {
      // The rest of the share is read while the server is away.
      const at = gate.passed() + 1 + Math.floor(Math.random() * (share - 1));
      gate.grant(share);
      await until(`work goes on before kill ${kill + 1}`, async () => gate.passed() >= at, 120_000);
      process.kill(server.pid, 'SIGKILL');
      server = await startTemporal({ port: Number(server.address.split(':')[1]), dataDir: server.dataDir });
    }
    const restarted = performance.now();
    const handle = site.client.workflow.getHandle(workflowId);
    const runningAtLastRestart = (await handle.describe()).status.name === 'RUNNING';
    const shareLeft = 1 - (gate.passed() - whole) / whole;
    gate.open();
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
    // Warnings of the SDK's core while the server is away are no result.
    expect(printed).toBe('');
    expect(await site.checkTruth()).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
    return { kills, runningAtLastRestart, shareLeft, secondsAfterLastRestart, secondsUndisturbed };
  } finally {
    await site?.dispose();
    await server.dispose();
  }
};
