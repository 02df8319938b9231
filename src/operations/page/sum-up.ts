/** The state of everything in one sentence. Pure. */
import { countOf } from '../../count-of.ts';
import { formatSpan } from './format.ts';
import type { PageDay, PageState } from './page-state.ts';

export type Mood = 'good' | 'working' | 'delayed' | 'action';

export interface Summary {
  readonly mood: Mood;
  /** `On time`, `Delayed`, … */
  readonly word: string;
  readonly sentence: string;
  /** What to do first; null when nothing is to be done. */
  readonly command: string | null;
}

const lateAfter = 900;
const inboxLateAfter = 300;

/** The last day, `YYYY-MM-DD`, up to which every day that was read is proven in every warehouse. */
export const provenThrough = (warehouses: PageState['warehouses']): string | null => {
  const last = warehouses.map(({ days }) => lastProven(days));
  return last.includes(null) ? null : ((last as string[]).sort()[0] ?? null);
};

const isProven = ({ state }: PageDay): boolean => state === 'proven' || state === 'healed';

const lastProven = (days: readonly PageDay[]): string | null => {
  let last: string | null = null;
  for (const day of days) {
    if (isProven(day)) last = day.date;
    else if (last !== null || day.state !== 'unread') break;
  }
  return last;
};

/** Where some warehouse lacks a proof of the first day that was read. */
const describeGap = (warehouses: PageState['warehouses']): string => {
  const [first, ...others] = warehouses.map(({ days }) => days.filter(isProven).map(({ date }) => date));
  const proven = (first ?? []).filter((date) => others.every((dates) => dates.includes(date))).length;
  const gaps = warehouses.flatMap(
    ({ days }) => days.find((day) => day.state !== 'unread' && !isProven(day))?.date ?? [],
  );
  if (proven === 0) return 'no day is proven yet';
  return `${countOf(proven, 'day')} ${proven === 1 ? 'is' : 'are'} proven, but not ${gaps.sort()[0]} before`;
};

export const sumUp = (state: PageState): Summary => {
  const problem = findProblem(state);
  return problem ?? { ...describeProgress(state), command: null };
};

const findProblem = (state: PageState): Summary | undefined => {
  const action = (sentence: string, command: string): Summary => ({
    mood: 'action',
    word: 'Action required',
    sentence,
    command,
  });
  if (!state.storeAnswers) return action('The operational store does not answer.', 'callsync doctor');
  const empty = state.warehouses.find(({ days }) => days.some((day) => day.state === 'suspicious_empty'));
  if (empty !== undefined) {
    return action('The service lists far fewer calls than are known; nothing was deleted.', 'callsync coverage');
  }
  const late = state.warehouses.find(({ liveOldestAge }) => (liveOldestAge ?? 0) > lateAfter);
  if (late !== undefined) {
    const reason = late.lastError === null ? '' : `; its last load failed with ${late.lastError}`;
    return action(
      `Warehouse ${late.name} lacks changes since ${formatSpan(late.liveOldestAge)}${reason}.`,
      'callsync doctor',
    );
  }
  const inbox = state.waiting.find(({ what }) => what === 'Inbox');
  if ((inbox?.oldestAge ?? 0) > inboxLateAfter) {
    return action(`Deliveries wait in the inbox since ${formatSpan(inbox?.oldestAge ?? null)}.`, 'callsync worker');
  }
  const { sync } = state;
  if (sync !== null && (sync.lag ?? 0) > lateAfter) {
    const reason = sync.lastError === null ? '' : `; the last attempt failed with ${sync.lastError}`;
    return {
      mood: 'delayed',
      word: 'Delayed',
      sentence: `The newest calls were read ${formatSpan(sync.lag)} ago${reason}.`,
      command: 'callsync doctor',
    };
  }
  return undefined;
};

const describeProgress = (state: PageState): Omit<Summary, 'command'> => {
  const through = provenThrough(state.warehouses);
  const newest = state.warehouses.map(({ newestVisible }) => newestVisible).filter((at) => at !== null);
  const age =
    newest.length === 0
      ? 'No call is visible yet'
      : `The newest visible call is ${formatSpan(Math.max(0, (state.at - Math.min(...newest)) / 1000))} old`;
  const proven = through === null ? describeGap(state.warehouses) : `all is proven through ${through}`;
  if (state.sync === null) {
    return { mood: 'working', word: 'Not started', sentence: `Continuous sync has not begun. ${age}; ${proven}.` };
  }
  return { mood: 'good', word: 'On time', sentence: `${age}; ${proven}.` };
};
