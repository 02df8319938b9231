/** What tests need of Prometheus: parsed scrapes, parsed queries, and promtool where it is installed. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { parse, stringify } from 'yaml';

export const monitoring = new URL('../../../deploy/monitoring/', import.meta.url).pathname;

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
}
export const rules: readonly Rule[] = (
  parse(readFileSync(`${monitoring}callsync.rules.yaml`, 'utf8')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);

/** Runs promtool, from CALLSYNC_PROMTOOL or PATH; undefined where there is none. */
export const promtool = (args: readonly string[], input = ''): { code: number | null; said: string } | undefined => {
  const { status, stdout, stderr, error } = spawnSync(process.env.CALLSYNC_PROMTOOL ?? 'promtool', args, {
    input,
    encoding: 'utf8',
  });
  return error === undefined ? { code: status, said: `${stdout}${stderr}` } : undefined;
};

/** Series of a scrape, `name{labels}` → value. */
export const seriesOf = (scrape: string): ReadonlyMap<string, number> =>
  new Map(
    scrape
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const end = line.lastIndexOf(' ');
        return [line.slice(0, end), Number(line.slice(end + 1))];
      }),
  );

/** Names under which the scrape has, or announces, series. */
export const namesOf = (scrape: string): ReadonlySet<string> => {
  const names = new Set([...seriesOf(scrape).keys()].map((series) => series.split('{', 1)[0] ?? ''));
  for (const [, name = '', kind] of scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    names.add(name);
    if (kind === 'histogram') for (const part of ['bucket', 'sum', 'count']) names.add(`${name}_${part}`);
  }
  return names;
};

/** Metrics that a query asks for. @throws when Prometheus could not read it. */
export const metricsOf = (query: string): string[] => {
  const metrics: string[] = [];
  parser.parse(query).iterate({
    enter: (node) => {
      if (node.type.isError) throw new Error(`not PromQL at ${node.from}: ${query}`);
      if (node.name === 'Identifier' && node.node.parent?.name === 'VectorSelector') {
        metrics.push(query.slice(node.from, node.to));
      }
    },
  });
  return metrics;
};

/** What was scraped before, while and after something was wrong; null = nobody answered. */
export interface Episode {
  readonly alert: string;
  /** The expression of the rule: only its metrics count. */
  readonly expr: string;
  /** Minutes for which the rule waits. */
  readonly waits: number;
  readonly before: readonly [string, string];
  readonly during: readonly [string, string] | null;
  /** As before where it is not given. */
  readonly after?: readonly [string, string];
}

const minutes: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1_440 };

export const episodeOf = (alert: string, scrapes: Pick<Episode, 'before' | 'during' | 'after'>): Episode => {
  const rule = rules.find((one) => one.alert === alert);
  if (rule === undefined) throw new Error(`no rule ${alert}`);
  const [, count = '0', unit = 'm'] = /^(\d+)([mhd])$/.exec(rule.for ?? '0m') ?? [];
  return { alert, expr: rule.expr, waits: Number(count) * (minutes[unit] ?? 1), ...scrapes };
};

/** A gauge that stays as it is. */
export const kept = (scrape: string): readonly [string, string] => [scrape, scrape];

/** Minutes: longer than the hour over which a rule looks back. */
const calm = 70;
const wrongFor = ({ waits }: Episode): number => 70 + waits;

/**
 * Counters grow by as much a minute as between two scrapes. Gauges keep the value of the later one; only an age that grew
 * while something was wrong goes on growing, a second a second.
 */
const valuesOf = (series: string, episode: Episode): string => {
  const { before, during, after = before } = episode;
  const wrong = wrongFor(episode);
  const isCounter = /_(total|count|sum|bucket)(\{|$)/.test(series);
  const valuesIn = (scrapes: readonly string[]) => scrapes.map((scrape) => seriesOf(scrape).get(series));
  const [a, b] = valuesIn(before);
  const [c, d] = valuesIn(during ?? []);
  const [e, f] = valuesIn(after);
  if (!isCounter) {
    const gone = `_x${wrong}`;
    const ages = /_(age|lag)_seconds(\{|$)/.test(series) && (d ?? 0) > (c ?? 0);
    const bad = during === null || d === undefined ? gone : `${d}${ages ? '+60' : ''}x${wrong}`;
    return `${b ?? 0}x${calm} ${bad} ${f ?? 0}x${calm}`;
  }
  const grows = Math.max(0, (b ?? 0) - (a ?? 0));
  const grew = Math.max(0, (d ?? 0) - (c ?? 0));
  const half = grows * (calm + 1);
  const whole = half + grew * (wrong + 1);
  const growsAgain = Math.max(0, (f ?? 0) - (e ?? 0));
  return `0+${grows}x${calm} ${half}+${grew}x${wrong} ${whole}+${growsAgain}x${calm}`;
};

/** Has promtool play the episodes to the rules: each alert is silent before, fires while, and is silent again after. */
export const playEpisodes = (episodes: readonly Episode[]): ReturnType<typeof promtool> => {
  const folder = mkdtempSync(join(tmpdir(), 'callsync-rules-'));
  const tests = episodes.map((episode) => {
    const metrics = new Set(metricsOf(episode.expr));
    const scrapes = [...episode.before, ...(episode.during ?? []), ...(episode.after ?? [])];
    const all = new Set(scrapes.flatMap((scrape) => [...seriesOf(scrape).keys()]));
    const series = [...all].filter((one) => metrics.has(one.split('{', 1)[0] ?? ''));
    return {
      name: episode.alert,
      interval: '1m',
      input_series: series.map((one) => ({ series: one, values: valuesOf(one, episode) })),
      promql_expr_test: [calm - 1, calm + wrongFor(episode) - 2, calm + wrongFor(episode) + calm].map(
        (minute, index) => ({
          expr: `count(ALERTS{alertname="${episode.alert}",alertstate="firing"}) > bool 0 or vector(0)`,
          eval_time: `${minute}m`,
          exp_samples: [{ labels: '{}', value: index === 1 ? 1 : 0 }],
        }),
      ),
    };
  });
  try {
    const file = join(folder, 'episodes.yaml');
    writeFileSync(
      file,
      stringify({ rule_files: [join(monitoring, 'callsync.rules.yaml')], evaluation_interval: '1m', tests }),
    );
    return promtool(['test', 'rules', file]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
