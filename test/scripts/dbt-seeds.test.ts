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
import {
  dayOf,
  daysBetween,
  groupsOf,
  mondayOf,
  repeatsOf,
  provenShareOf as shareOf,
  sum,
  weeksOf,
} from '../marts/by-hand.ts';
import { agentSideOf, talkOf, utterancesOf } from '../marts/talk.ts';
import { root } from '../support/repository.ts';

const files = renderDbtSeeds();
const calls = listSeedCalls();

test('there are no other seeds than those that npm run generate writes', () => {
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

const facts = calls.map((document) => {
  const { Agent: agent = '', UDF_num_02: deal = '' } = document.metadata as Readonly<Record<string, string>>;
  const utterances = utterancesOf(document);
  const at = Date.parse(document.timestamp as string);
  const side = agentSideOf(document);
  return {
    ...{ call_id: document.unique_id as string, at, day: dayOf(at), business_day: dayOf(at) },
    caller: (document.in as { readonly data: string } | null)?.data,
    campaign: document.campaign as string,
    agent,
    ...{ side, agent_side: side, seconds: Number(document.duration), duration_seconds: Number(document.duration) },
    words: utterances.flatMap(({ words }) => (words as { value: string }[]).map(({ value }) => value.toLowerCase())),
    status: document.status as string,
    deal_value: /^\d+\.?\d*$/.test(deal) ? Number(deal) : null,
    tags: document.tags as unknown as readonly { display_name: string; confidence: number; value: unknown }[],
    talk: talkOf(utterances, side, 1),
  };
});
const deliveries = listSeedDeliveries(calls).map((one) => ({ ...one, business_day: dayOf(one.receivedMs) }));

const provenShareOf = (day: string, levels = ['rows', 'guards']): number =>
  shareOf(day, firstMs, seedVerdicts, ({ level = 'rows' }) => levels.includes(level));

const completenessOf = (share: number): string => (share === 1 ? 'proven' : share > 0 ? 'partly proven' : 'not proven');

const group = <T extends { readonly business_day: string }>(items: readonly T[], keyOf: (item: T) => string) =>
  groupsOf(items, (item) => [item.business_day, keyOf(item)]);

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
    repeatsOf(facts, 7).map(({ call: { call_id, at }, previous, ...repeats }) => ({
      ...{ call_id, previous_call_id: previous?.call_id ?? null, ...repeats },
      hours_since_previous: previous === undefined ? null : (at - previous.at) / 3_600_000,
    })),
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
  talk_weekly: () => weeksOf(facts.filter(({ talk }) => talk.talk_status === 'ok')),
  new_words: () => {
    const uses = facts.flatMap(({ business_day, call_id, words }) =>
      words.map((word) => ({ week: mondayOf(business_day), word, call_id })),
    );
    const weeks = [...new Set(uses.map(({ week }) => week))].sort();
    const isBefore = (one: string, week: string) => one < week && daysBetween(one, week) <= 28;
    return groupsOf(uses, ({ week, word }) => [week, word]).flatMap((some) => {
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
