/** Removes expired data from the ledger, deliveries and warehouses. */
import type { Ages } from '../../calls/age.ts';
import { findHeldCalls, lockFreeCalls } from '../../store/gate.ts';
import { listCallsBetween } from '../../store/ledger/read-ledger.ts';
import { readMeta, writeMeta } from '../../store/meta.ts';
import { expireCalls, listHeldSubjects } from '../../store/persons/calls.ts';
import { lastHoldDropped } from '../../store/persons/keys.ts';
import { purgeBodiesBefore } from '../../store/persons/texts.ts';
import { recordCount } from '../../store/status/events.ts';
import type { IngestDeps } from '../deps.ts';
import { rewriteCalls } from './apply-rules.ts';

const classes = ['calls', 'words', 'transcripts', 'freeFields'] as const;
/** A little is looked at again: times are kept to the microsecond, and calls may come while it runs. */
const overlapMicros = 1_000_000;
/** Documents in memory at once. */
const callsAtOnce = 200;
const idsAtOnce = 5_000;
/** Calls that go as a whole: quarantine is searched once for so many. */
const expiredAtOnce = 2_000;

/**
 * Time up to which calls of a class have been checked, in microseconds. A restored ledger has the earlier time.
 * @param dropped changes when a hold ends, so that its calls are checked again, even by a running pass
 */
const agedTo = (name: string, dropped: string | undefined): string =>
  `aged_to:${name}${dropped === undefined ? '' : `:${dropped}`}`;

/**
 * Continues each class of ages. Each cut raises the revision of the call, and warehouses get it with their next
 * loads.
 * A call that expires as a whole becomes a tombstone, so that no list or delivery restores it. Calls under a legal
 * hold stay whole. May be interrupted.
 * @param dryRun counts the calls beyond an age and changes nothing.
 * Calls that lost data of a class. `calls` counts removed calls, and `bodies` counts deliveries.
 */
export const applyAges = async (
  deps: Pick<IngestDeps, 'processedField' | 'sanitize' | 'store'>,
  ages: Ages,
  { dryRun }: { readonly dryRun: boolean },
) => {
  const { store } = deps;
  const dropped = await readMeta<string>(store, lastHoldDropped);
  const counts = { words: 0, transcripts: 0, freeFields: 0, calls: 0, bodies: 0 };
  for (const name of classes) {
    const limit = ages.limits[name];
    if (limit === undefined) continue;
    const to = (ages.now() - limit) * 1_000;
    const from = ((await readMeta<number>(store, agedTo(name, dropped))) ?? Number.NEGATIVE_INFINITY) - overlapMicros;
    const atOnce = name === 'calls' ? expiredAtOnce : callsAtOnce;
    for await (const aged of listCallsBetween(store, { from, to, limit: dryRun ? idsAtOnce : atOnce })) {
      if (!dryRun) await listHeldSubjects(store, aged);
      if (dryRun) counts[name] += aged.length - (await findHeldCalls(store, aged, store.keyOf)).size;
      else if (name === 'calls') counts.calls += await expireCalls(store, aged);
      else
        counts[name] += await rewriteCalls(deps, (tx) => lockFreeCalls(tx, aged, store), {
          sanitize: ages.age,
          index: deps.sanitize && store.index,
        });
    }
    if (dryRun) continue;
    counts.bodies += await purgeBodiesBefore(store, to);
    await writeMeta(store, agedTo(name, dropped), to);
  }
  if (!dryRun)
    await recordCount(
      store,
      'retention',
      Object.values(counts).reduce((sum, one) => sum + one, 0),
    );
  return counts;
};
