/** The message of a week: proven days, missing calls, lost webhooks, healed differences. A line each, with its link. */

import { formatCount } from '../../lib/count-of.ts';
import { dateOf, dayMicros, nowMicros } from '../../lib/timestamps.ts';
import type { Database } from '../../postgres/database.ts';
import { readMeta, writeMeta } from '../../store/meta.ts';
import { isProven, type Report, readReport } from '../coverage/report.ts';
import { digest } from './channels.ts';
import { queue } from './watch.ts';

const weekMicros = 7 * dayMicros;
/** A Monday. */
const firstMonday = 4 * dayMicros;
/** Comparisons of the last day have ended by then. */
const proofMicros = dayMicros / 2;

type Day = Report['days'][number];
type Count = 'missing' | 'different' | 'healed';

/**
 * The text of one or several weeks. Each line ends with the page of the first day that it is about.
 * @param pageUrl of the status page; undefined = the line ends with the command that shows the day
 */
export const describeWeek = ({ days, webhooks }: Pick<Report, 'days' | 'webhooks'>, pageUrl?: string): string => {
  const page = pageUrl?.replace(/\/?$/, '/');
  const names = [...new Set(days.map(({ day }) => day))];
  const open = new Set(days.filter((one) => !isProven(one)).map(({ day }) => day));
  const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);
  const count = (name: Count): number => sum(days.map((day) => day[name] ?? 0));
  const ofDay = (name: string) => days.filter(({ day }) => day === name);
  // A call that several warehouses lack is one call.
  const missing = sum(names.map((name) => Math.max(...ofDay(name).map((one) => one.missing ?? 0))));
  const link = (isMeant: (day: Day) => boolean): string => {
    const { day, warehouse } = days.find(isMeant) ?? (days.at(-1) as Day);
    if (page === undefined) return `callsync coverage --day ${day}`;
    return `${page}verdicts?${new URLSearchParams({ warehouse, day })}`;
  };
  const has = (name: Count) => (day: Day) => (day[name] ?? 0) > 0;
  return [
    `${names.length > 7 ? 'Weeks' : 'Week'} from ${names[0]} to ${names.at(-1)}`,
    `Proven days: ${names.length - open.size} of ${names.length}. ${link(({ day }) => open.has(day))}`,
    `Missing calls: ${formatCount(missing)}, found by comparison: late at the service, or gone from a warehouse. ${link(has('missing'))}`,
    `Lost webhooks: ${formatCount(webhooks.lost)} of ${formatCount(webhooks.expected)} calls. callsync coverage`,
    `Healed differences: ${formatCount(count('healed'))} of ${formatCount(count('missing') + count('different'))}. ${link(has('healed'))}`,
  ].join('\n');
};

/**
 * Queues the message of the weeks that ended since the last one, once for all processes. A store that has sent none
 * begins with the week that runs.
 * @param input.comparedAfter microseconds after which a day is compared
 */
export const queueDigest = async (
  store: Database,
  input: Pick<Parameters<typeof readReport>[1], 'warehouses' | 'version'> & {
    readonly channels: readonly string[];
    readonly pageUrl?: string | undefined;
    readonly comparedAfter: number;
    readonly now?: number;
  },
): Promise<void> => {
  const { channels, warehouses, pageUrl, comparedAfter, now = nowMicros() } = input;
  if (channels.length === 0 || warehouses.length === 0) return;
  const settled = now - comparedAfter - proofMicros - firstMonday;
  const to = settled - (settled % weekMicros) + firstMonday;
  const week = dateOf(to / 1000);
  const told = await readMeta<string>(store, digest);
  if (told === undefined) await writeMeta(store, digest, week);
  if (told === undefined || told >= week) return;
  const summary = describeWeek(
    await readReport(store, { ...input, range: { from: Date.parse(told) * 1000, to }, now }),
    pageUrl,
  );
  await store.transaction(async (tx) => {
    const claimed =
      await tx.query`UPDATE meta SET value = to_jsonb(${week}::text) WHERE key = ${digest} AND value = to_jsonb(${told}::text) RETURNING 1`;
    if (claimed.length > 0) await queue(tx, { condition: digest, channels }, { subject: '', state: 'firing', summary });
  });
};
