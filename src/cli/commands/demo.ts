import { type Command, InvalidArgumentError, Option } from 'commander';
import { analystQueries } from '../../simulator/demo/analyst-queries.ts';
import { askLines } from '../../simulator/demo/ask-lines.ts';
import { countDifferent, describeDifference } from '../../simulator/demo/check-equal.ts';
import { type DemoOptions, type RunningDemo, runDemo } from '../../simulator/demo/run-demo.ts';
import { print, say, untilStopped } from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { renderTable } from '../shell/output.ts';

const parseCount = (text: string): number => {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 1_000_000)
    throw new InvalidArgumentError('Use a whole number from 1 to 1000000.');
  return count;
};

const renderEqual = (equal: NonNullable<RunningDemo['result']['equal']>): string[] => [
  'Rows in Postgres and BigQuery, compared in all columns but load ids',
  renderTable(Object.entries(equal).map(([table, { rows, different }]) => ({ table, rows, different }))),
  '',
];

/** @param staysUp only then do the addresses still answer when somebody reads them. */
const renderSummary = async (demo: RunningDemo, staysUp: boolean): Promise<string> => {
  const { result, warehouse } = demo;
  const lines = [
    '',
    'Rows per table',
    renderTable(Object.entries(result.rows).map(([table, rows]) => ({ table, rows }))),
  ];
  for (const { title, sql } of analystQueries) lines.push('', title, renderTable(await warehouse.query(sql)));
  const { lost, duplicated, stale, mismatched, erased, calls } = result.truth;
  lines.push(
    '',
    `Truth check over ${calls} calls: lost ${lost}, duplicated ${duplicated}, stale ${stale}, mismatched ${mismatched}${erased > 0 ? `; ${erased} erased, kept out` : ''}`,
    ...(result.equal === undefined ? [] : ['', ...renderEqual(result.equal)]),
    `Webhook deliveries: ${Object.entries(result.deliveries)
      .map(([name, n]) => `${n} ${name}`)
      .join(', ')}`,
    `Seconds: ${Object.entries(result.seconds)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
  );
  lines.push('', ...askLines(demo, staysUp));
  if (staysUp) {
    if (demo.temporalUi !== undefined) lines.push(`Temporal's interface: ${demo.temporalUi}`);
    lines.push(`Webhook receiver: ${demo.webhookAddress}`);
    if (demo.statusPage !== undefined) {
      const { address, passwordFile } = demo.statusPage;
      lines.push(`Status page: ${address}   (to act on it: user demo, password in ${passwordFile})`);
    }
  } else lines.push('Without --exit it stays up, for psql, the status page and Temporal’s interface.');
  return lines.join('\n');
};

export const addDemo = (command: Command): void => {
  command
    .option('--exit', 'end after the summary instead of staying up')
    .option('--calls <n>', 'calls to backfill', parseCount, 2_000)
    .addOption(
      new Option('--warehouse <kind>', 'where to load').choices(['postgres', 'bigquery', 'both']).default('postgres'),
    )
    .option('--data-dir <folder>', 'where data is kept between runs')
    .option('--json', 'print the result as one JSON line, last on standard output')
    .addOption(
      new Option('--log-level <level>', 'process log')
        .choices(['silent', 'error', 'warn', 'info', 'debug'])
        .default('error'),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  callsync demo\n  callsync demo --exit --json\n  callsync demo --warehouse bigquery --exit\n  callsync demo --warehouse both --exit --json',
    )
    .action(async (options: DemoOptions) => {
      // Until the summary, Ctrl-C ends everything at once; what was loaded is kept.
      const sayKept = (): void => say('Stopped. What was loaded is kept; the next start goes on from there.');
      process.once('exit', sayKept);
      const demo = await runDemo(options).finally(() => process.off('exit', sayKept));
      const { stopped } = untilStopped();
      try {
        if (options.json !== true) print({}, null, await renderSummary(demo, options.exit !== true));
        // Standard output has the result alone, once the demo ends; until then somebody uses it.
        else if (options.exit !== true) say(await renderSummary(demo, true));
        const { lost, duplicated, stale, mismatched } = demo.result.truth;
        const different = countDifferent({ equal: demo.result.equal ?? {} });
        if (lost + duplicated + stale + mismatched + different > 0) process.exitCode = exitCodes.incomplete;
        for (const difference of demo.differences) say(describeDifference(difference, ['postgres', 'bigquery']));
        if (options.exit !== true) {
          say('Still running; Ctrl-C ends it and keeps the data.');
          await stopped;
        }
      } finally {
        await demo.services.close();
      }
      if (options.json === true) print(options, demo.result, '');
    });
};
