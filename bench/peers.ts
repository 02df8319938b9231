/**
 * Other tools beside callsync, on one hostile but honest service. While anyone pages, calls leave the pages that were
 * read, change, and come late. Between syncs, calls change, come and go. Prints for each tool and sync what it lost and
 * kept wrongly, its requests, time and memory. About 10 minutes. Options: --calls N, --seed N, --tools WORD, --json, and
 * --write, which keeps the run for the page docs/explanation/comparison.md (`npm run generate`).
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openCallsync } from './peers/callsync.ts';
import { peers, type Synced, type Tool } from './peers/peers.ts';
import { type Service, startService, steps } from './peers/service.ts';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1500' },
    seed: { type: 'string', default: '11' },
    tools: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});

/** Differences between the service and a destination. */
const compare = async (service: Service, rows: Synced['rows']) => {
  const shown = await service.shown();
  const found = new Map(rows);
  const isStale = ([callId, { status, campaign }]: Synced['rows'][number]): boolean => {
    const now = shown.get(callId);
    return now !== undefined && (now.status !== status || now.campaign !== campaign);
  };
  return {
    lost: [...shown.keys()].filter((callId) => !found.has(callId)).length,
    stale: [...found].filter(isStale).length,
    duplicated: rows.length - found.size,
    kept: [...found.keys()].filter((callId) => !shown.has(callId)).length,
  };
};

const runTool = async (tool: Tool) => {
  const folder = await mkdtemp(join(tmpdir(), 'callsync-peers-'));
  const service = await startService(Number(values.seed), Number(values.calls));
  const reports = [];
  try {
    for (const { name, change } of [...steps, ...(tool.lastSteps ?? [])]) {
      await change(service);
      const before = await service.requests();
      const { rows, said, ...used } = await tool.sync(service, folder, name);
      const requests = (await service.requests()) - before;
      const report = { step: name, ...(await compare(service, rows)), requests, ...used, said };
      reports.push(report);
      process.stderr.write(`${tool.name}, ${name}: ${JSON.stringify(report)}\n`);
    }
    return { tool: tool.name, settings: tool.settings, reports };
  } finally {
    await tool.close?.();
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
};

const results = [];
for (const tool of [...peers, openCallsync()].filter(({ name }) => name.includes(values.tools)))
  results.push(await runTool(tool));

/** The page shows the last two runs. */
if (values.write) {
  const file = resolve(import.meta.dirname, '../../bench/peers/measured.json');
  const { runs } = JSON.parse(await readFile(file, 'utf8')) as { readonly runs: readonly unknown[] };
  const run = { date: new Date().toISOString().slice(0, 10), calls: Number(values.calls), tools: results };
  await writeFile(file, `${JSON.stringify({ runs: [...runs.slice(-1), run] }, null, 2)}\n`);
}

const columns = [
  'lost',
  'stale',
  'duplicated',
  'kept',
  'requests',
  'seconds',
  'processorSeconds',
  'megabytes',
] as const;
const heads = ['lost', 'stale', 'duplicated', 'kept', 'requests', 'seconds', 'processor', 'MB'];
const toLine = (start: string, cells: readonly string[], end = ''): string =>
  `${start.padEnd(24)}${cells.map((cell) => cell.padStart(11)).join('')}  ${end}`.trimEnd();
const table = results.flatMap(({ tool, settings, reports }) => [
  `${tool}: ${settings}`,
  ...reports.map((report) =>
    toLine(
      `  ${report.step}`,
      columns.map((name) => report[name].toFixed(0)),
      report.said,
    ),
  ),
]);
process.stdout.write(
  values.json
    ? `${JSON.stringify(results)}\n`
    : `${[toLine('', heads, 'its own words'), ...table, 'kept: deleted at the service, and still there'].join('\n')}\n`,
);
