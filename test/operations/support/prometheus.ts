/** Tools of tests for Prometheus: parsed scrapes, parsed queries, and promtool where it is installed. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';

export const monitoring = new URL('../../../deploy/monitoring/', import.meta.url).pathname;

const { groups } = parse(readFileSync(`${monitoring}callsync.rules.yaml`, 'utf8'));
export const rules: readonly { readonly alert: string; readonly expr: string; readonly for?: string }[] =
  groups.flatMap((group: { rules: readonly object[] }) => group.rules);

/** Runs promtool, from CALLSYNC_PROMTOOL or PATH; undefined where there is none. */
export const promtool = (args: readonly string[], input = ''): { code: number | null; said: string } | undefined => {
  const program = process.env.CALLSYNC_PROMTOOL ?? 'promtool';
  const { status, stdout, stderr, error } = spawnSync(program, args, { input, encoding: 'utf8' });
  return error === undefined ? { code: status, said: `${stdout}${stderr}` } : undefined;
};

/** Series of a scrape, `name{labels}` → value. */
export const seriesOf = (scrape: string): ReadonlyMap<string, number> =>
  new Map([...scrape.matchAll(/^([^#\n].*) (\S+)$/gm)].map(([, series = '', value]) => [series, Number(value)]));

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
      if (node.name === 'Identifier' && node.node.parent?.name === 'VectorSelector')
        metrics.push(query.slice(node.from, node.to));
    },
  });
  return metrics;
};
