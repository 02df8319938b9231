import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { terminal } from '../../lib/errors.ts';
import type { RequestLimiter } from '../../source/http/limiter.ts';
import { defaultProbeRequests, probeSource } from '../../source/probe/probe.ts';
import { renderProbe, writeListSection } from '../../source/probe/render-probe.ts';
import { type CommonOptions, print, say, wholeNumber, withCommonOptions } from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { replaceFile } from '../shell/files.ts';

interface ProbeCommandOptions extends CommonOptions {
  readonly write?: boolean;
  /** Writes without showing. */
  readonly quiet?: boolean;
  readonly maxRequests: number;
  readonly tryParam: readonly (readonly [from: string, to: string])[];
  /** By default one that knows of no earlier request. */
  readonly limiter?: RequestLimiter;
}

const collectPairs = (
  text: string,
  before: readonly (readonly [string, string])[],
): readonly (readonly [string, string])[] => {
  const [from, to, ...more] = text.split(',').map((name) => name.trim());
  if (!from || !to || more.length > 0) {
    throw new InvalidArgumentError('Use the names of a lower and an upper bound, such as created_from,created_to.');
  }
  return [...before, [from, to]];
};

/** Asks the service and shows, or writes, what was found. */
export const runProbe = async (options: ProbeCommandOptions): Promise<void> => {
  const { config, path } = await loadConfig({ path: options.config });
  if (options.write && path === undefined) {
    throw terminal(
      'CONFIG_MISSING',
      'There is no configuration file to write into: everything came from the environment.',
      {
        hint: 'Leave --write out and copy the printed section.',
      },
    );
  }
  say(`Asking ${new URL(config.source.base_url).host}, at most ${options.maxRequests} requests …`);
  const report = await probeSource({
    config: config.source,
    maxRequests: options.maxRequests,
    bounds: options.tryParam,
    ...(options.limiter === undefined ? {} : { limiter: options.limiter }),
  });
  if (options.quiet !== true) print(options, report, renderProbe(report));
  if (options.write && path !== undefined) {
    await replaceFile(path, writeListSection(await readFile(path, 'utf8'), report));
    say(`Written to ${path}.`);
  }
  if (!report.complete) process.exitCode = exitCodes.incomplete;
};

export const addProbe = (command: Command): void => {
  withCommonOptions(command)
    .option('--write', 'write what was found into the configuration file, after showing it; comments stay')
    .option('--max-requests <n>', 'never make more requests to the call list', wholeNumber(1), defaultProbeRequests)
    .option('--try-param <from,to>', 'further window parameters to try first; may be repeated', collectPairs, [])
    .addHelpText(
      'after',
      `
Examples:
  callsync probe
  callsync probe --write --max-requests 30
  callsync probe --try-param created_after,created_before

It needs source.base_url and credentials only. It prints names of fields and parameters, never their content.
Exit code 5: the requests were used up before every question was answered.`,
    )
    .action(runProbe);
};
