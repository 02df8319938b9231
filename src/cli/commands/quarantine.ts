import { callFields } from '../../../schemas/call.ts';
import { openIngest } from '../../app/activity-deps.ts';
import { withStore } from '../../app/services.ts';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { isObject, parseQuietly } from '../../lib/parse-json.ts';
import { say } from '../../lib/say.ts';
import { createOpener } from '../../lib/sealed.ts';
import { openSecret } from '../../lib/secret.ts';
import { replayQuarantine } from '../../pipeline/import/replay-quarantine.ts';
import { listQuarantine, readQuarantine, settleQuarantine } from '../../store/delivery/quarantine.ts';
import { argument, choice, flag, group, instant, leaf, option, parsed, wholeNumber } from '../shell/define.ts';
import { renderTable, untilStopped } from '../shell/output.ts';

const number = wholeNumber(1);
const numbers = (text: string, before: readonly number[] = []): readonly number[] => [...before, number(text)];

/** A mistyped number must not look as if something had been done. @returns whether records are absent */
const tellAbsent = (absent: number): boolean => {
  if (absent <= 0) return false;
  say(
    `${countOf(absent, 'given record')} ${absent === 1 ? 'is' : 'are'} not open. Run callsync quarantine list --state all.`,
  );
  return true;
};

export default group({
  commands: {
    list: leaf({
      does: 'list records, newest first',
      options: {
        state: choice('--state <state>', 'state of the listed records', ['open', 'replayed', 'dropped', 'all'], 'open'),
        limit: parsed('--limit <n>', 'most records to list', number, '50'),
      },
      examples: ['callsync quarantine list', 'callsync quarantine list --state all --limit 500 --json'],
      within: withStore,
      run: async ({ state, limit }, store) => {
        return [await listQuarantine(store, { ...(state === 'all' ? {} : { state }), limit })];
      },
    }),
    show: leaf({
      does: 'show the reason and the shape of one record, without its content',
      args: [argument('<id>', 'number of the record', number)],
      options: { raw: flag('--raw', 'write the bytes of the record to standard output') },
      examples: ['callsync quarantine show 17', 'callsync quarantine show 17 --raw > record.bin'],
      within: withStore,
      run: async (id, options, store) => {
        const entry = await readQuarantine(store, id);
        if (entry === undefined)
          throw terminal('USAGE_QUARANTINE', `There is no record ${id} in quarantine.`, {
            hint: 'Run callsync quarantine list --state all.',
          });
        const { body, ...facts } = entry;
        if (options.raw) return void process.stdout.write(body);
        const shape = describeShape(body);
        return [
          { ...facts, shape },
          `${renderTable([facts])}\n\n${shape}\n\nIts bytes, which may hold personal data: --raw`,
        ];
      },
    }),
    replay: leaf({
      does: 'read records again after a fix. Exit code 5: some records still fail',
      args: [argument('[ids...]', 'numbers of the records', numbers, [])],
      options: {
        all: flag('--all', 'replay all open records'),
        observedAt: parsed('--observed-at <instant>', 'time of imported records without a time of their own', instant),
        keyFile: option('--key-file <file>', 'private key (PEM) for sealed records (privacy.seal_key_file)'),
      },
      examples: [
        'callsync quarantine replay --all',
        'callsync quarantine replay 17 18 --observed-at 2025-03-01',
        'callsync quarantine replay --all --key-file private.pem',
      ],
      run: async (ids, options) => {
        const all = options.all === true;
        if ((ids.length === 0) !== all)
          throw terminal('USAGE_QUARANTINE', 'Name the records to replay, or give --all.');
        const key = openSecret({ key: 'the private key', file: options.keyFile });
        return await withStore(options, async (store, services) => {
          const result = await replayQuarantine(await openIngest(services, store), {
            carries: new Set(services.config.source.list.authoritative_fields),
            signal: untilStopped().signal,
            ...(all ? {} : { ids }),
            observedAt: options.observedAt,
            open: key && createOpener(key.readBytes()),
          });
          const { replayed, refused, changed } = result;
          const text = `${replayed} replayed (${countOf(changed, 'call')} new, changed or seen earlier), ${refused} still unreadable.`;
          const isShort = !all && tellAbsent(ids.length - replayed - refused);
          return [result, text, (isShort || refused > 0) && 'incomplete'];
        });
      },
    }),
    drop: leaf({
      does: 'discard records; their bytes are deleted after 30 days',
      args: [argument('<ids...>', 'numbers of the records', numbers)],
      examples: ['callsync quarantine drop 17 18'],
      within: withStore,
      run: async (ids, _options, store) => {
        const dropped = await settleQuarantine(store, ids, 'dropped');
        const text = `${dropped} of ${ids.length} dropped. If the service sends them again, they stay dropped.`;
        return [{ dropped }, text, tellAbsent(ids.length - dropped) && 'incomplete'];
      },
    }),
  },
});

// Shape of the bytes without content: names of known fields, and types.

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? `array of ${value.length}` : typeof value;

/** One line for something that is not an object, else one line a field. Names of unknown fields may be data: counted. */
const describeShape = (body: Buffer): string => {
  const value = parseQuietly(body);
  if (value === undefined) return `${body.length} bytes that are not JSON`;
  if (!isObject(value)) return `JSON: ${typeOf(value)}`;
  const fields = Object.entries(value);
  const lines = fields.filter(([name]) => callFields.has(name)).map(([name, inner]) => `${name}: ${typeOf(inner)}`);
  const others = fields.length - lines.length;
  if (others > 0) lines.push(`${others} further field${others === 1 ? '' : 's'} that the interface does not show`);
  return lines.length === 0 ? 'an empty JSON object' : lines.join('\n');
};
