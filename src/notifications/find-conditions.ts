/** What is wrong now, from the figures of the store. Pure. */
import type { Condition } from '../../schemas/config/notifications.ts';
import { countOf } from '../count-of.ts';

export interface Wrong {
  readonly condition: Condition;
  /** Name of a warehouse; empty where it is about none. */
  readonly subject: string;
  /** In words: names and figures, no personal data. */
  readonly summary: string;
}

interface Figures {
  readonly sync: { readonly lag: number | null; readonly lastError: string | null } | null;
  readonly inbox: { readonly count: number; readonly oldestAge: number | null };
  readonly quarantine: { readonly count: number };
  readonly warehouses: readonly {
    readonly name: string;
    readonly liveOldestAge: number | null;
    readonly lastError: string | null;
  }[];
}

export interface ConditionInput {
  readonly store: Figures;
  readonly verdicts: readonly {
    readonly warehouse: string;
    readonly unproven: number;
    readonly suspiciousEmpty: number;
  }[];
  readonly usages: readonly {
    readonly warehouse: string;
    readonly jobs: { readonly used: number; readonly limit: number };
  }[];
}

const staleAfter = 900;
const inboxAfter = 300;
const quotaAbove = 0.8;
const minutes = (seconds: number): string => `${Math.round(seconds / 60)} min`;
const because = (code: string | null): string => (code === null ? '' : ` (${code})`);

/** The limits are those of the alerts in deploy/monitoring. */
export const findConditions = ({ store, verdicts, usages }: ConditionInput): Wrong[] => {
  const wrong: Wrong[] = [];
  const add = (condition: Condition, subject: string, summary: string): void => {
    wrong.push({ condition, subject, summary });
  };
  const lag = store.sync?.lag ?? 0;
  if (lag > staleAfter) {
    add('stale', '', `New calls are not read since ${minutes(lag)}${because(store.sync?.lastError ?? null)}.`);
  }
  const waits = store.inbox.oldestAge ?? 0;
  if (waits > inboxAfter)
    add(
      'inbox_stalled',
      '',
      `In the inbox: ${countOf(store.inbox.count, 'delivery')}, the oldest waiting since ${minutes(waits)}.`,
    );
  if (store.quarantine.count > 0) {
    add('quarantine_open', '', `In quarantine, to be decided on: ${countOf(store.quarantine.count, 'record')}.`);
  }
  for (const { name, liveOldestAge, lastError } of store.warehouses) {
    if ((liveOldestAge ?? 0) > staleAfter) {
      add(
        'load_stalled',
        name,
        `Warehouse ${name} lacks changes since ${minutes(liveOldestAge ?? 0)}${because(lastError)}.`,
      );
    }
  }
  for (const { warehouse, jobs } of usages) {
    if (jobs.used / jobs.limit > quotaAbove) {
      add('quota_low', warehouse, `Warehouse ${warehouse} has used ${jobs.used} of ${jobs.limit} load jobs in 24 h.`);
    }
  }
  for (const { warehouse, unproven, suspiciousEmpty } of verdicts) {
    if (unproven > 0)
      add('unproven', warehouse, `Not proven in warehouse ${warehouse}: ${countOf(unproven, 'window')}.`);
    if (suspiciousEmpty > 0) {
      add(
        'suspicious_empty',
        warehouse,
        `The service lists far fewer calls than are known: ${countOf(suspiciousEmpty, 'window')}.`,
      );
    }
  }
  return wrong;
};
