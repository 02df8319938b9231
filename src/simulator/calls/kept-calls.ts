/** Calls that the simulator was given beside its plan, and the answers to its webhooks, in a file that outlives the process. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { WebhookSender } from '../webhooks/webhook-sender.ts';
import type { World, WorldChanges } from './world.ts';

interface KeptCalls {
  readonly changes: WorldChanges;
  readonly delivered: readonly (readonly [index: number, version: number])[];
}

/** Reads the file into a world that has just begun; without a file nothing happens. */
export const restoreCalls = (file: string, world: World, sender: WebhookSender): void => {
  let kept: KeptCalls;
  try {
    kept = JSON.parse(readFileSync(file, 'utf8')) as KeptCalls;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  world.restore(kept.changes);
  for (const [index, version] of kept.delivered) sender.delivered.set(index, version);
};

/** Writes the file for the next start. */
export const keepCalls = (file: string, world: World, sender: WebhookSender): void =>
  writeFileSync(
    file,
    JSON.stringify({ changes: world.changes(), delivered: [...sender.delivered] } satisfies KeptCalls),
  );
