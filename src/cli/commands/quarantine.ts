import type { Command } from 'commander';
import { Option } from 'commander';
import { describeShape } from '../../calls/describe-shape.ts';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { createOpener } from '../../lib/sealed.ts';
import { openSecret } from '../../lib/secret.ts';
import { replayQuarantine } from '../../pipeline/import/replay-quarantine.ts';
import {
  listQuarantine,
  type QuarantineEntry,
  readQuarantine,
  settleQuarantine,
} from '../../store/delivery/quarantine.ts';
import { ingestDeps } from '../parts/activity-deps.ts';
import { openStoreService } from '../parts/open-store.ts';
import { openWarehouses } from '../parts/open-warehouses.ts';
import type { Services } from '../parts/services.ts';
import {
  type CommonOptions,
  print,
  untilStopped,
  wholeNumber,
  withCommonOptions,
  withServices,
  withStore,
} from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { withExamples } from '../shell/output.ts';
import { parseTimestampArgument } from './backfill.ts';

const number = wholeNumber(1);
const numbers = (text: string, before: readonly number[] = []): readonly number[] => [...before, number(text)];

const line = ({ id, state, source, origin, bytes, receivedAt, reason }: QuarantineEntry): string =>
  `${String(id).padStart(6)}  ${state.padEnd(8)}  ${receivedAt.toISOString()}  ${source.padEnd(7)}  ${origin}  ${bytes} bytes: ${reason}`;

const list = (options: CommonOptions & { state: string; limit: number }): Promise<void> =>
  withStore(options, async (store) => {
    const { state, limit } = options;
    const entries = await listQuarantine(store, { ...(state === 'all' ? {} : { state }), limit });
    print(options, entries, entries.length === 0 ? 'Nothing.' : entries.map(line).join('\n'));
  });

const show = (id: number, options: CommonOptions & { raw?: boolean }): Promise<void> =>
  withStore(options, async (store) => {
    const entry = await readQuarantine(store, id);
    if (entry === undefined) {
      throw terminal('USAGE_QUARANTINE', `There is no record ${id} in quarantine.`, {
        hint: 'See callsync quarantine list --state all.',
      });
    }
    if (options.raw) {
      process.stdout.write(entry.body);
      return;
    }
    const { body, ...facts } = entry;
    const shape = describeShape(body);
    print(options, { ...facts, shape }, `${line(facts)}\n\n${shape}\n\nIts bytes, which may hold personal data: --raw`);
  });

/** A mistyped number must not look as if something had been done. */
const tellAbsent = (services: Services, absent: number): void => {
  if (absent <= 0) return;
  services.say(
    `${absent} of the records named ${absent === 1 ? 'is' : 'are'} not open: callsync quarantine list --state all.`,
  );
  process.exitCode = exitCodes.incomplete;
};

const settleDropped = (ids: readonly number[], options: CommonOptions): Promise<void> =>
  withStore(options, async (store, services) => {
    const dropped = await settleQuarantine(store, ids, 'dropped');
    print(
      options,
      { dropped },
      `${dropped} of ${ids.length} dropped; they stay dropped if the service sends them again.`,
    );
    tellAbsent(services, ids.length - dropped);
  });

interface ReplayOptions extends CommonOptions {
  readonly all?: boolean;
  readonly observedAt?: number;
  readonly keyFile?: string;
}

const replay = (ids: readonly number[], options: ReplayOptions): Promise<void> =>
  withServices(options, async (services) => {
    if ((ids.length === 0) !== (options.all === true)) {
      throw terminal('USAGE_QUARANTINE', 'Name the records to replay, or give --all.');
    }
    const key = openSecret({ key: 'the private key', file: options.keyFile });
    const store = await openStoreService(services);
    const deps = ingestDeps(services, { store, targets: await openWarehouses(services, store) });
    const result = await replayQuarantine(deps, {
      carries: new Set(services.config.source.list.carries),
      signal: untilStopped().signal,
      ...(options.all ? {} : { ids }),
      observedAt: options.observedAt,
      open: key && createOpener(key.readBytes()),
    });
    const { replayed, refused, changed } = result;
    print(
      options,
      result,
      `${replayed} replayed (${countOf(changed, 'call')} new or changed), ${refused} still refused.`,
    );
    if (refused > 0) process.exitCode = exitCodes.incomplete;
    if (options.all !== true) tellAbsent(services, ids.length - replayed - refused);
  });

export const addQuarantine = (command: Command): void => {
  const quarantine = command.addHelpText(
    'after',
    `
Examples:
  callsync quarantine list
  callsync quarantine show 17
  callsync quarantine show 17 --raw > record.bin
  callsync quarantine replay --all
  callsync quarantine drop 17 18`,
  );
  withExamples(withCommonOptions(quarantine.command('list')), [
    'callsync quarantine list',
    'callsync quarantine list --state all --limit 500 --json',
  ])
    .description('what is there, newest first')
    .addOption(
      new Option('--state <state>', 'only those').choices(['open', 'replayed', 'dropped', 'all']).default('open'),
    )
    .option('--limit <n>', 'at most so many', number, 50)
    .action(list);
  withExamples(withCommonOptions(quarantine.command('show')), [
    'callsync quarantine show 17',
    'callsync quarantine show 17 --raw > record.bin',
  ])
    .argument('<id>', 'number of the record', number)
    .description('one record: why it is there and what it looks like, without its content')
    .option('--raw', 'write its bytes to standard output instead')
    .action(show);
  withExamples(withCommonOptions(quarantine.command('replay')), [
    'callsync quarantine replay --all',
    'callsync quarantine replay 17 18 --observed-at 2025-03-01',
    'callsync quarantine replay --all --key-file private.pem',
  ])
    .argument('[ids...]', 'numbers of the records', numbers, [])
    .description('read records again as they are, after a fix; exit code 5: some are still refused')
    .option('--all', 'all that are open')
    .option(
      '--observed-at <instant>',
      'when imported records were as they are, where they do not say',
      parseTimestampArgument,
    )
    .option('--key-file <file>', 'private key (PEM) of records that were sealed on arrival (privacy.seal_key_file)')
    .action(replay);
  withExamples(withCommonOptions(quarantine.command('drop')), ['callsync quarantine drop 17 18'])
    .argument('<ids...>', 'numbers of the records', numbers)
    .description('give records up')
    .action(settleDropped);
};
