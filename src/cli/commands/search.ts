import { text } from 'node:stream/consumers';
import { openWarehouse } from '../../app/activity-deps.ts';
import { withStore } from '../../app/services.ts';
import { refuseEmptyRange } from '../../app/temporal.ts';
import { countOf } from '../../lib/count-of.ts';
import { iso } from '../../lib/timestamps.ts';
import { readSpeaker } from '../../marts/mart.ts';
import type { FoundCall, SearchHit, SearchResult } from '../../warehouse/search.ts';
import { requireFrom } from '../../warehouse/warehouse.ts';
import { argument, instant, leaf, option, parsed, wholeNumber } from '../shell/define.ts';
import { lines } from '../shell/output.ts';

/** Bold on a terminal, brackets elsewhere. Control characters of a transcript do not reach the terminal. */
const highlight = ({ text, highlights }: SearchHit): string => {
  const [open, close] = process.stdout.isTTY ? ['\u001b[1m', '\u001b[22m'] : ['[', ']'];
  const plain = (part: string): string => part.replace(/\p{Cc}/gu, ' ');
  let shown = '';
  let at = 0;
  for (const [start, end] of highlights) {
    shown += `${plain(text.slice(at, start))}${open}${plain(text.slice(start, end))}${close}`;
    at = end;
  }
  return shown + plain(text.slice(at));
};

const renderCall = ({ callId, callTimestamp, language, hits }: FoundCall): string =>
  [
    `${callId}  ${callTimestamp === null ? 'no time' : iso(callTimestamp)}  ${language ?? ''}`.trimEnd(),
    ...hits.map(
      (hit) => `  ${String(hit.utteranceIndex).padStart(4)} ${(hit.side ?? '-').padEnd(4)} ${highlight(hit)}`,
    ),
  ].join('\n');

const render = ({ calls, more, pending }: SearchResult): string =>
  lines(
    calls.map(renderCall),
    calls.length > 0
      ? `${countOf(calls.length, 'call')}${more ? ', and more: --limit shows them' : ''}`
      : 'No call has it.',
    pending > 0 && `Not indexed yet, and so missing from the results: ${countOf(pending, 'loaded call')}.`,
  );

const toJson = ({ calls, more, pending }: SearchResult) => ({
  calls: calls.map((call) => ({
    call_id: call.callId,
    call_timestamp: call.callTimestamp === null ? null : iso(call.callTimestamp),
    language: call.language,
    hits: call.hits.map(({ utteranceIndex, ...hit }) => ({ utterance_index: utteranceIndex, ...hit })),
  })),
  more,
  pending,
});

export default leaf({
  args: [
    argument(
      '<text...>',
      'words and "phrases in quotes"; the word or separates alternatives, - excludes a word, * stands for any ending',
    ),
  ],
  options: {
    from: parsed('--from <instant>', 'earliest time of a call (UTC)', instant),
    to: parsed('--to <instant>', 'end of the time range, exclusive (UTC)', instant),
    side: option('--side <side>', 'side that says the words, which is in, out, agent or customer'),
    // biome-ignore lint/suspicious/noThenProperty: the name of the option, and nothing to await
    then: option('--then <text>', 'words that a later utterance of the call must have'),
    limit: parsed('--limit <n>', 'most calls to show, newest first; at most 1000', wholeNumber(1, 1_000), '20'),
    warehouse: option('--warehouse <name>', 'warehouse to search (default: the first PostgreSQL warehouse)'),
  },
  examples: [
    'callsync warehouse search-index create',
    'callsync search annuler contrat --side out',
    'callsync search annuler --then "geste commercial"',
    `callsync search '"votre facture" -rappeler' --from 2025-01-01 --json`,
  ],
  remarks: `Words match all inflections in the language of the call, whatever their accents and case. One side of the call must say
all words; a phrase must be within one utterance. rembours* finds words that begin with its stem. With --then, each text
must be within one utterance, and --side applies to both. Stop words (votre, the) count only in phrases. BigQuery
compares whole words as written; the local BigQuery cannot search. With --json, highlights are [start, end) offsets into
text. Other users of the machine can see arguments. To hide the words, give - as the only argument; callsync then reads
them from standard input.`,
  within: withStore,
  run: async (words, options, store, services) => {
    refuseEmptyRange(options);
    const { from, to, side, then, limit } = options;
    const speaker = readSpeaker(side, services.config.analytics);
    const search = requireFrom(openWarehouse(services, store, options.warehouse), 'search');
    // Arguments stand in process lists, and what somebody searches for may be a person.
    const asked = words.length === 1 && words[0] === '-' ? await text(process.stdin) : words.join(' ');
    const result = await search.find({ text: asked, thenText: then, from, to, ...speaker, limit });
    return [toJson(result), render(result)];
  },
});
