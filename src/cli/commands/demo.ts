import { say } from '../../lib/say.ts';
import { analystQueries, askLines } from '../../simulator/demo/ask-lines.ts';
import { renderProof } from '../../simulator/demo/prove-days.ts';
import { runDemo } from '../../simulator/demo/run-demo.ts';
import { choice, flag, leaf, logLevel, option, parsed, wholeNumber } from '../shell/define.ts';
import { endWith, lines, print, renderTable, untilStopped } from '../shell/output.ts';

const listed = (counts: Readonly<Record<string, number>>, render: (name: string, n: number) => string): string =>
  Object.entries(counts)
    .map(([name, n]) => render(name, n))
    .join(', ');

/** @param staysUp only then do the addresses still answer when somebody reads them. */
const renderSummary = async (demo: Awaited<ReturnType<typeof runDemo>>, staysUp: boolean): Promise<string> => {
  const { result, warehouse, statusPage } = demo;
  const { broken } = result;
  const { lost, duplicated, stale, mismatched, erased, calls } = result.truth;
  const rows = Object.entries(result.rows).map(([table, count]) => ({ table, rows: count }));
  const answers: string[] = [];
  for (const [title, sql] of Object.entries(analystQueries))
    answers.push(`\n${title}`, renderTable(await warehouse.query(sql)));
  return lines(
    `\nRows per table\n${renderTable(rows)}`,
    answers,
    `\nTruth check over ${calls} calls: lost ${lost}, duplicated ${duplicated}, stale ${stale}, mismatched ${mismatched}${erased > 0 ? `; ${erased} erased, kept out` : ''}`,
    `Webhook deliveries: ${listed(result.deliveries, (name, n) => `${n} ${name}`)}`,
    `Seconds: ${listed(result.seconds, (name, n) => `${name} ${n}`)}`,
    `\n${askLines(demo, staysUp).join('\n')}`,
    broken &&
      `\nBroken on purpose: ${broken.altered} rows altered, ${broken.deleted} deleted. Found: ${broken.found} calls. Healed: ${broken.healed}.`,
    staysUp && demo.temporalUi !== undefined && `Temporal's interface: ${demo.temporalUi}`,
    staysUp && `Webhook receiver: ${demo.webhookAddress}`,
    staysUp &&
      statusPage &&
      `Status page: ${statusPage.address}   (to act on it: user demo, password in ${statusPage.passwordFile})`,
    !staysUp && 'Without --exit, the demo keeps running, with psql, the status page and Temporal’s interface.',
    `\nNewest settled days: calls in the service and in the warehouse\n${renderProof(result.proof)}`,
  );
};

export default leaf({
  shared: 'json',
  options: {
    exit: flag('--exit', 'end after the summary'),
    break: flag('--break', 'alter 20 rows of an earlier demo and delete 5; callsync then finds and heals them'),
    calls: parsed('--calls <n>', 'calls to backfill', wholeNumber(1, 1_000_000), '500'),
    warehouse: choice('--warehouse <kind>', 'warehouse to load', ['postgres', 'bigquery'], 'postgres'),
    dataDir: option('--data-dir <folder>', 'folder that keeps the data between runs'),
    logLevel: logLevel('error'),
  },
  examples: [
    'callsync demo',
    'callsync demo --exit --json',
    'callsync demo --break --exit',
    'callsync demo --warehouse bigquery --exit',
  ],
  run: async (options) => {
    // Until the summary, Ctrl-C ends everything at once. Loaded data stays.
    const sayKept = (): void => say('Stopped. Loaded calls stay; the next start continues from there.');
    process.once('exit', sayKept);
    const demo = await runDemo(options).finally(() => process.off('exit', sayKept));
    const { stopped } = untilStopped();
    const staysUp = options.exit !== true;
    try {
      if (options.json !== true) print({}, null, await renderSummary(demo, staysUp));
      // Standard output has the result alone, once the demo ends; until then somebody uses it.
      else if (staysUp) say(await renderSummary(demo, true));
      const { lost, duplicated, stale, mismatched } = demo.result.truth;
      const { proof, broken } = demo.result;
      const isUnproven =
        proof.proven < proof.days || (broken !== undefined && broken.healed < broken.altered + broken.deleted);
      if (lost + duplicated + stale + mismatched > 0 || isUnproven) {
        say(`The figures above are not all as they should be. Next: callsync coverage --config ${demo.configFile}`);
        endWith('incomplete');
      }
      if (staysUp) {
        say('The demo keeps running. Ctrl-C ends it; the data stays.');
        await stopped();
      }
    } finally {
      await demo.services.close();
    }
    if (options.json === true) print(options, demo.result, '');
  },
});
