import { InvalidArgumentError } from 'commander';
import { type CommonOptions, openConfigFile } from '../../app/services.ts';
import { loadConfig } from '../../config/load.ts';
import { say } from '../../lib/say.ts';
import type { RequestLimiter } from '../../source/http/limiter.ts';
import { defaultProbeRequests, probeSource, renderProbe, writeListSection } from '../../source/probe/probe.ts';
import { flag, type Given, leaf, parsed, wholeNumber } from '../shell/define.ts';
import { endWith, print } from '../shell/output.ts';

type Names = readonly [from: string, to: string] | readonly [name: string];

type ProbeCommandOptions = CommonOptions &
  Partial<Given<typeof options>> & {
    /** Writes the findings without printing them. */
    readonly quiet?: boolean;
    /** By default a limiter without earlier requests. */
    readonly limiter?: RequestLimiter;
  };

const collectNames = (text: string, before: readonly Names[] = []): readonly Names[] => {
  const names = text.split(',').map((name) => name.trim());
  if (names.length > 2 || names.includes(''))
    throw new InvalidArgumentError('Use the names of two bounds, such as created_from,created_to, or a single name.');
  return [...before, names as unknown as Names];
};

/** Probes the service, and shows or writes the findings. */
export const runProbe = async (options: ProbeCommandOptions): Promise<void> => {
  const { config, path } = await loadConfig({ path: options.config });
  const write = options.write === true ? openConfigFile(path) : undefined;
  const { maxRequests = defaultProbeRequests, tryParam: names = [], limiter } = options;
  say(`Asking ${new URL(config.source.base_url).host}, at most ${maxRequests} requests …`);
  const report = await probeSource({ config: config.source, maxRequests, names, ...(limiter && { limiter }) });
  if (options.quiet !== true) print(options, report, renderProbe(report));
  await write?.((text) => writeListSection(text, report));
  if (!report.complete) endWith('incomplete');
};

const options = {
  write: flag('--write', 'show the findings, then write them into the configuration file; comments stay'),
  maxRequests: parsed(
    '--max-requests <n>',
    'most requests to the call list',
    wholeNumber(1),
    String(defaultProbeRequests),
  ),
  tryParam: parsed(
    '--try-param <names>',
    'names to try first: the two bounds of a window, or a parameter of paging. Repeatable',
    collectNames,
  ),
};

export default leaf({
  options,
  examples: [
    'callsync probe',
    'callsync probe --write --max-requests 30',
    'callsync probe --try-param created_after,created_before',
  ],
  remarks: `The command needs only source.base_url and credentials. probe prints names of fields and parameters, never values.
Exit code 5: --max-requests was too low to answer every question.`,
  run: runProbe,
});
