import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../../schemas/config/duration.ts';
import { transient } from '../../lib/errors.ts';
import { goLive } from '../parts/go-live.ts';
import { openTemporal } from '../parts/open-temporal.ts';
import { unpolledQueues } from '../parts/watch-workers.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withStore } from '../shell/command.ts';
import { tellTimes } from '../shell/output.ts';
import { parseTimestampArgument } from './backfill.ts';

interface GoLiveOptions extends CommonOptions {
  readonly from: number;
  readonly url?: string;
  readonly overlap: number;
  readonly acceptEmpty?: boolean;
  readonly restart?: boolean;
}

const duration = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Use a duration such as 5m or 1h.');
  return ms;
};

const run = (options: GoLiveOptions): Promise<void> =>
  withStore(options, async (store, services) => {
    const { signal } = untilStopped();
    const temporal = await openTemporal(services);
    const { namespace, task_queue: prefix } = services.config.temporal;
    if ((await unpolledQueues(temporal.client.workflow, namespace, prefix)).length > 0) {
      throw transient('GO_LIVE_WORKER', 'No worker is running.', {
        hint: 'Start callsync up --no-schedules (or worker and serve) and run the same command again.',
      });
    }
    const { url } = options;
    const state = await goLive(
      { services, store, temporal },
      {
        from: options.from,
        url,
        overlapMs: options.overlap,
        acceptEmpty: options.acceptEmpty === true,
        restart: options.restart === true,
        signal,
      },
    );
    print(options, tellTimes(state), 'Live: webhooks are taken, the past is read, and continuous sync runs.');
  });

export const addGoLive = (command: Command): void => {
  withCommonOptions(command)
    .requiredOption('--from <instant>', 'where the past begins (UTC)', parseTimestampArgument)
    .option('--url <url>', 'try this address instead of webhook.public_url; it need not be public')
    .addOption(
      new Option('--overlap <duration>', 'how long webhooks and list must have run side by side')
        .argParser(duration)
        .default(600_000, '10m'),
    )
    .option('--accept-empty', 'go on although no call ended in that time')
    .option('--restart', 'begin again, whatever an earlier run has done')
    .addHelpText(
      'after',
      `
Examples:
  callsync up --no-schedules &
  callsync go-live --from 2024-01-01

Each step is kept: after Ctrl-C or a failure, the same command goes on with the first step that is not done. The sample
delivery that verifies the receiver is removed again and never becomes a call. Exit code 4: not live yet, run it again.`,
    )
    .action(run);
};
