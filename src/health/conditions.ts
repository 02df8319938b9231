/** The conditions under which something is wrong: the one table behind page, `callsync status`, doctor, messages and the limits of alerts. */
import type { Condition } from '../../schemas/config/notifications.ts';
import { countOf, formatSpan } from '../lib/count-of.ts';
import { mostWaiting } from '../store/windows/verdicts.ts';
import type { Health, NamedUsage, ProofHealth } from './read-health.ts';

/** The shared reading and the slow ones beside it; a condition whose reading is absent finds nothing. */
export interface Readings extends Health {
  readonly proofs?: readonly ProofHealth[] | undefined;
  readonly usages?: readonly Pick<NamedUsage, 'warehouse' | 'jobs'>[] | undefined;
  /** Seconds after which continuous sync asks for new calls. */
  readonly syncEvery?: number | undefined;
  /** New calls in the ledger; null until two readings are some seconds apart. */
  readonly callsPerMinute?: number | null;
}

/** Name of a warehouse, empty where it is about none, and the value that is too high. */
type Found = readonly [subject: string, value: number];

interface Definition {
  readonly severity: 'critical' | 'warning';
  /** Seconds, a count or a share. Above this limit, callsync tells channels and Prometheus. */
  readonly above: number;
  /** Above this limit, page, status and doctor show the condition; `above` by default. */
  readonly shown?: (readings: Readings, subject: string) => number;
  read(readings: Readings): readonly Found[];
  /** Seconds since the condition began; without this function, the value is an age. Null = unknown. */
  readonly age?: (readings: Readings, subject: string) => number | null;
  /** One sentence: names and figures, no personal data. */
  say(readings: Readings, found: Found): string;
  /** The command that comes first. */
  readonly command: string;
}

/** @param error a code, or a text that begins with one */
export const because = (error: string | null | undefined) => (error == null ? '' : ` (${error.replace(/\.$/, '')})`);
/** A failure shows after so long: early enough that readers see it within a minute. A delay without a failure may be the pace of the configuration. */
const failureShownAfter = 45;
const warehouseOf = ({ warehouses }: Readings, name: string | undefined) => warehouses.find((one) => one.name === name);

interface Wait {
  readonly reason?: string;
  readonly command?: string;
  /** Microseconds. */
  readonly since?: number | null;
}

/** Reason of a wait, and the command that helps; empty where nothing is wrong. @param name of a warehouse that it is for */
export const describeWait = (readings: Readings, name: string | undefined): Wait => {
  const { at, workerAge, sync } = readings;
  const { pending = 0, lastError = null } = warehouseOf(readings, name) ?? {};
  if (workerAge === null || workerAge > 30)
    return { reason: 'a worker', command: 'worker', since: workerAge && (at - workerAge * 1000) * 1000 };
  if (sync?.lastError != null)
    return {
      reason: `the service${because(sync.lastError)}`,
      command: 'doctor',
      since: sync.failedAt && sync.failedAt.getTime() * 1000,
    };
  if (lastError !== null) return { reason: `the warehouse${because(lastError)}`, command: 'doctor' };
  if (pending > mostWaiting) return { reason: `${countOf(pending, 'call')} to be loaded`, command: 'status' };
  return {};
};

/** From the conditions that stop most to those that stop least. By default a warning, and above 0. */
const definitions: Readonly<Record<Condition, Omit<Definition, 'severity' | 'above'> & Partial<Definition>>> = {
  worker_gone: {
    severity: 'critical',
    above: 120,
    shown: () => 30,
    read: ({ workerAge }) => (workerAge === null ? [] : [['', workerAge]]),
    say: (_, [, value]) => `No worker has run for ${formatSpan(value)}. Nothing is read, merged or loaded.`,
    command: 'callsync worker',
  },
  stale: {
    severity: 'critical',
    above: 900,
    shown: ({ sync, syncEvery = 0 }) =>
      sync?.lastError == null ? Math.max(failureShownAfter, 1.5 * syncEvery + 30) : failureShownAfter,
    read: ({ sync }) => {
      const lag = sync?.lag ?? (sync?.lastError == null ? null : sync.watermarkAge);
      return lag === null ? [] : [['', lag]];
    },
    age: ({ sync }) => sync?.lag ?? null,
    say: ({ sync }, [, value]) =>
      `${sync?.lag === null ? 'No new call has been read yet' : `New calls have not been read for ${formatSpan(value)}`}${because(sync?.lastError)}.`,
    command: 'callsync doctor',
  },
  inbox_stalled: {
    severity: 'critical',
    above: 300,
    shown: () => failureShownAfter,
    read: ({ inbox }) => [['', inbox.oldestAge ?? 0]],
    say: ({ inbox, workerAge }, [, value]) =>
      `In the inbox: ${countOf(inbox.count, 'delivery')}; the oldest has waited for ${formatSpan(value)}.${workerAge === null ? ' Start callsync worker.' : ''}`,
    command: 'callsync doctor',
  },
  load_stalled: {
    severity: 'critical',
    above: 900,
    shown: (readings, name) => (warehouseOf(readings, name)?.lastError == null ? 900 : failureShownAfter),
    read: ({ warehouses }) =>
      warehouses.map((one) => [one.name, Math.max(one.liveOldestAge ?? 0, one.erasureOldestAge ?? 0)]),
    say: (readings, [name, value]) =>
      `Warehouse ${name} is ${formatSpan(value)} behind${because(warehouseOf(readings, name)?.lastError)}.`,
    command: 'callsync doctor',
  },
  calls_refused: {
    read: ({ warehouses }) => warehouses.map((one) => [one.name, one.refused]),
    age: () => null,
    say: (readings, [name, value]) =>
      `Warehouse ${name} refuses ${countOf(value, 'call')}${because(warehouseOf(readings, name)?.refusal)}.`,
    command: 'callsync status',
  },
  maintenance_failed: {
    above: 900,
    shown: () => failureShownAfter,
    read: ({ maintenance }) => (maintenance == null ? [] : [['', maintenance.age]]),
    say: ({ maintenance }, [, value]) =>
      `Maintenance has failed for ${formatSpan(value)}${because(maintenance?.error)}. The store grows.`,
    command: 'callsync doctor',
  },
  webhook_refused: {
    above: 300,
    shown: () => 0,
    // A network scanner sends one or two requests. Refusals that have stopped are no lasting fault.
    read: ({ refused: { count, oldestAge, newestAge } }) =>
      count < 3 || newestAge === null || newestAge > 900 ? [] : [['', oldestAge ?? 0]],
    say: ({ refused }) =>
      `Every delivery is refused for its signature (webhook.secrets, webhook.header_prefix): ${countOf(refused.count, 'delivery')} since the last good one.`,
    command: 'callsync doctor',
  },
  suspicious_empty: {
    read: ({ proofs = [] }) => proofs.map((one) => [one.warehouse, one.suspiciousEmpty]),
    age: ({ proofs }, name) => proofs?.find(({ warehouse }) => warehouse === name)?.oldestAge ?? null,
    say: (_, [, value]) =>
      `In ${countOf(value, 'window')}, the service lists far fewer calls than the ledger has; callsync deleted nothing.`,
    command: 'callsync coverage',
  },
  quarantine_open: {
    read: ({ quarantine }) => [['', quarantine.count]],
    age: ({ quarantine }) => quarantine.oldestAge,
    say: (_, [, value]) => `In quarantine: ${countOf(value, 'record')}. Replay or drop ${value === 1 ? 'it' : 'them'}.`,
    command: 'callsync quarantine list',
  },
  reread_unanswered: {
    read: ({ rereads }) => [['', rereads.unanswered]],
    age: () => null,
    say: (_, [, value]) =>
      `Deliveries differ for ${countOf(value, 'call')}, and callsync cannot ask the service which one is right.`,
    command: 'callsync backfill --force --from DATE --to DATE',
  },
  unproven: {
    read: ({ proofs = [] }) => proofs.map(({ warehouse, unproven, withdrawn }) => [warehouse, unproven - withdrawn]),
    age: ({ proofs }, name) => proofs?.find(({ warehouse }) => warehouse === name)?.oldestAge ?? null,
    say: (readings, [name, value]) => {
      const waiting = readings.proofs?.find(({ warehouse }) => warehouse === name)?.waiting ?? 0;
      const waits =
        waiting === 0
          ? ''
          : ` Of these, ${waiting} wait for ${describeWait(readings, name).reason ?? 'a free slot for reading, or sync.reconcile is off'}.`;
      return `Not proven in warehouse ${name}: ${countOf(value, 'window')}.${waits}`;
    },
    command: 'callsync coverage',
  },
  quota_low: {
    above: 0.8,
    read: ({ usages = [] }) => usages.map(({ warehouse, jobs }) => [warehouse, jobs.used / jobs.limit]),
    age: () => null,
    say: (_, [name, value]) => `Warehouse ${name} has used ${Math.round(100 * value)} % of its load jobs of 24 h.`,
    command: 'callsync status',
  },
};

export const conditions = Object.fromEntries(
  Object.entries(definitions).map(([name, one]) => [name, { severity: 'warning', above: 0, ...one }]),
) as Readonly<Record<Condition, Definition>>;

/** One thing that is wrong now. */
export type Alarm = ReturnType<typeof judge>[number];

/** Everything that is wrong, the worst first. */
export const judge = (readings: Readings) =>
  Object.entries(conditions)
    .flatMap(([name, { severity, above, shown, read, age, say, command }]) =>
      read(readings)
        .filter(([subject, value]) => value > Math.min(above, shown?.(readings, subject) ?? above))
        .map((found) => {
          const [subject, value] = found;
          const seconds = age === undefined ? value : age(readings, subject);
          const summary = say(readings, found);
          /** The value is above the limit for messages. */
          const isUrgent = value > above;
          /** Milliseconds since the epoch; null = unknown. */
          const since = seconds === null ? null : readings.at - seconds * 1000;
          return { condition: name as Condition, subject, summary, command, severity, isUrgent, since };
        }),
    )
    .sort((left, right) => rank(right) - rank(left));

/** Critical and urgent before critical, these before warnings; within a rank as the table has them. */
const rank = ({ severity, isUrgent }: Pick<Definition, 'severity'> & { readonly isUrgent: boolean }): number =>
  (severity === 'critical' ? 2 : 0) + (isUrgent ? 1 : 0);
