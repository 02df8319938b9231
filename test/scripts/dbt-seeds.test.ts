/** The seeds of dbt/integration_tests are current and invented, and what models must say of them is counted from the calls. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  expectedColumns,
  expectedPath,
  firstMs,
  listSeedCalls,
  listSeedDeliveries,
  renderCsv,
  renderDbtSeeds,
  seedVerdicts,
} from '../../scripts/dbt-seeds.ts';
import type { Utterance } from '../marts/analytics.ts';
import { agentSideOf, talkOf, utterancesOf } from '../marts/talk.ts';
import { read, root } from '../support/repository.ts';

const files = renderDbtSeeds();
const calls = listSeedCalls();

test('the seeds are current (npm run generate), and there are no others', () => {
  for (const [path, text] of Object.entries(files)) expect(read(path), path).toBe(text);
  const expected = [...Object.keys(files), ...Object.keys(expectedColumns).map(expectedPath)];
  const found = readdirSync(`${root}/dbt/integration_tests/seeds`).map((name) => `dbt/integration_tests/seeds/${name}`);
  expect(found.sort()).toEqual(expected.filter((path) => path.includes('/seeds/')).sort());
});

test('their telephone numbers are of the ranges kept for fiction', () => {
  const text = Object.values(files).join('\n');
  const numbers = text.match(/\b33\d{9}\b/g) ?? [];
  expect(numbers.length).toBeGreaterThan(60);
  expect(numbers.filter((number) => !/^33(19900|63998)\d{4}$/.test(number))).toEqual([]);
});

// `npx vitest run test/scripts/dbt-seeds.test.ts -u` keeps other figures; dbt compares its models with them.
test.each(Object.entries(expectedColumns))('what %s must say is what the calls say', async (mart, columns) => {
  const rows = (counted[mart]?.() ?? []).map((row) => columns.map((column) => sixDigits(row[column])));
  expect(rows.length).toBeGreaterThan(1);
  await expect(renderCsv(columns, rows.sort())).toMatchFileSnapshot(`${root}/${expectedPath(mart)}`);
});

type Row = Readonly<Record<string, unknown>>;

const sixDigits = (value: unknown): unknown => (typeof value === 'number' ? Number(value.toFixed(6)) : value);

const paris = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Paris', dateStyle: 'short' });
const dayOf = (ms: number): string => paris.format(new Date(ms));

const facts = calls.map((document) => {
  const { Agent: agent = '', UDF_num_02: deal = '' } = document.metadata as Readonly<Record<string, string>>;
  const utterances: readonly Utterance[] = utterancesOf(document);
  return {
    call_id: document.unique_id as string,
    business_day: dayOf(Date.parse(document.timestamp as string)),
    at: Date.parse(document.timestamp as string),
    caller: (document.in as { readonly data: string } | null)?.data,
    campaign: document.campaign as string,
    agent,
    agent_side: agentSideOf(document),
    words: utterances.flatMap(({ words }) => (words as { value: string }[]).map(({ value }) => value.toLowerCase())),
    status: document.status as string,
    duration_seconds: Number(document.duration),
    deal_value: /^\d+\.?\d*$/.test(deal) ? Number(deal) : null,
    tags: document.tags as unknown as readonly { display_name: string; confidence: number; value: unknown }[],
    talk: talkOf(utterances, agentSideOf(document), 1),
  };
});
const deliveries = listSeedDeliveries(calls).map((one) => ({ ...one, business_day: dayOf(one.receivedMs) }));

/** Part of a day that is proven: quarter of an hour by quarter of an hour, by the latest verdict. */
const provenShareOf = (day: string, levels = ['rows', 'guards']): number => {
  const quarterMs = 900_000;
  const around = Array.from({ length: 6 * 96 }, (_, index) => firstMs + (index - 96) * quarterMs);
  const quarters = around.filter((at) => dayOf(at) === day);
  const proven = quarters.filter((at) => {
    const days = (at - firstMs) / (96 * quarterMs);
    const latest = seedVerdicts.findLast(({ from, to }) => from <= days && days < to);
    const isGood = latest?.outcome === 'proven' || latest?.outcome === 'healed';
    return isGood && levels.includes(latest.level ?? 'rows');
  });
  return proven.length / quarters.length;
};

const completenessOf = (share: number): string => (share === 1 ? 'proven' : share > 0 ? 'partly proven' : 'not proven');

const mondayOf = (day: string): string => {
  const ms = Date.parse(day);
  return new Date(ms - ((new Date(ms).getUTCDay() + 6) % 7) * 86_400_000).toISOString().slice(0, 10);
};

const group = <T extends { readonly business_day: string }>(items: readonly T[], keyOf: (item: T) => string) =>
  groupBy(items, (item) => JSON.stringify([item.business_day, keyOf(item)]));

const groupBy = <T>(items: readonly T[], keyOf: (item: T) => string): readonly (readonly [T, ...T[]])[] => {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item] as [T, ...T[]]);
  return [...groups.values()];
};

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
const count = <T>(items: readonly T[], isCounted: (item: T) => boolean): number => items.filter(isCounted).length;

/** By mart. */
const counted: Readonly<Record<string, () => readonly Row[]>> = {
  calls_wide: () => facts,
  call_talk: () => facts.map(({ call_id, talk }) => ({ call_id, ...talk })),
  agent_daily: () =>
    group(facts, ({ agent }) => agent).map((some) => ({
      business_day: some[0].business_day,
      agent: some[0].agent,
      calls: some.length,
      qualified_calls: count(some, ({ status }) => status === 'qualified'),
      void_calls: count(some, ({ status }) => status === 'void'),
      duration_seconds: sum(some.map(({ duration_seconds }) => duration_seconds)),
      proven_share: provenShareOf(some[0].business_day),
    })),
  tag_daily: () =>
    group(
      facts.flatMap(({ business_day, campaign, tags }) => tags.map((tag) => ({ business_day, campaign, ...tag }))),
      ({ campaign, display_name }) => JSON.stringify([campaign, display_name]),
    ).map((some) => ({
      business_day: some[0].business_day,
      campaign: some[0].campaign,
      tag_name: some[0].display_name,
      calls: some.length,
      calls_true: some.some(({ value }) => typeof value === 'boolean')
        ? count(some, ({ value }) => value === true)
        : null,
      mean_confidence: sum(some.map(({ confidence }) => confidence)) / some.length,
    })),
  repeat_calls: () =>
    facts.flatMap(({ call_id, caller, at, business_day }) => {
      if (caller === undefined) return [];
      const [next] = facts.filter((one) => one.caller === caller && one.at > at).sort((a, b) => a.at - b.at);
      const daysTo = (other: string) => Math.abs(Date.parse(other) - Date.parse(business_day)) / 86_400_000;
      const [previous] = facts.filter((one) => one.caller === caller && one.at < at).sort((a, b) => b.at - a.at);
      const hours = previous && (at - previous.at) / 3_600_000;
      return {
        call_id,
        previous_call_id: previous?.call_id ?? null,
        hours_since_previous: hours ?? null,
        is_repeat: previous !== undefined && daysTo(previous.business_day) <= 7,
        is_called_again: next !== undefined && daysTo(next.business_day) <= 7,
      };
    }),
  tag_pairs: () => {
    const had = facts.map(({ tags }) => new Set(tags.flatMap((one) => (one.value === false ? [] : one.display_name))));
    const names = [...new Set(had.flatMap((some) => [...some]))].sort();
    const having = (...wanted: string[]) => count(had, (some) => wanted.every((name) => some.has(name)));
    return names.flatMap((tag_name, place) =>
      names.slice(place + 1).flatMap((other_tag_name) => {
        const [calls, tag, other] = [having(tag_name, other_tag_name), having(tag_name), having(other_tag_name)];
        const lift = (calls * count(had, (some) => some.size > 0)) / (tag * other);
        return calls === 0
          ? []
          : [{ tag_name, other_tag_name, calls, calls_with_tag: tag, calls_with_other: other, lift }];
      }),
    );
  },
  talk_weekly: () =>
    groupBy(
      facts.filter(({ talk }) => talk.talk_status === 'ok'),
      ({ business_day, campaign, agent }) => JSON.stringify([mondayOf(business_day), campaign, agent]),
    ).map((some) => {
      const mean = (figures: (number | null | undefined)[]) => sum(figures.map((one) => one ?? 0)) / figures.length;
      return {
        week: mondayOf(some[0].business_day),
        campaign: some[0].campaign,
        agent: some[0].agent,
        calls: some.length,
        mean_silence_share: mean(some.map(({ talk }) => talk.silence_share)),
        mean_overlap_share: mean(some.map(({ talk }) => (talk.overlap_seconds ?? 0) / (talk.speech_seconds ?? 1))),
        mean_interruptions: mean(some.map(({ talk }) => talk.interruptions)),
      };
    }),
  new_words: () => {
    const uses = facts.flatMap(({ business_day, call_id, words }) =>
      words.map((word) => ({ week: mondayOf(business_day), word, call_id })),
    );
    const weeks = [...new Set(uses.map(({ week }) => week))].sort();
    const isBefore = (one: string, week: string) => one < week && Date.parse(week) - Date.parse(one) <= 28 * 86_400_000;
    return groupBy(uses, ({ week, word }) => `${week} ${word}`).flatMap((some) => {
      const [{ week, word }] = some;
      if (uses.some((one) => one.word === word && isBefore(one.week, week))) return [];
      const calls = new Set(some.map(({ call_id }) => call_id)).size;
      return [{ week, word, calls, uses: some.length, weeks_before: count(weeks, (one) => isBefore(one, week)) }];
    });
  },
  completeness_daily: () =>
    group(facts, () => '').map((some) => ({
      business_day: some[0].business_day,
      calls: some.length,
      proven_share: provenShareOf(some[0].business_day),
      rows_proven_share: provenShareOf(some[0].business_day, ['rows']),
      completeness: completenessOf(provenShareOf(some[0].business_day)),
    })),
  delivery_daily: () =>
    group(deliveries, () => '').map((some) => ({
      business_day: some[0].business_day,
      hook_id: 'hook-1',
      deliveries: some.length,
      accepted: count(some, ({ outcome }) => outcome === 'accepted'),
      duplicates: count(some, ({ outcome }) => outcome === 'duplicate'),
    })),
};
