/** Every error code of the source with its messages and their hints, as docs/reference/errors.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitOf, exits, nextStep } from '../src/cli/shell/output.ts';
import { type ErrorCode, errorCodes, nextSteps } from '../src/lib/error-codes.ts';
import { CallsyncError } from '../src/lib/errors.ts';
import { databaseFaults } from '../src/postgres/errors.ts';
import { passing } from '../src/source/http/errors.ts';
import { bigqueryFaults } from '../src/warehouse/bigquery/errors.ts';

/** Meanings of errors whose messages come from elsewhere, for the page of errors. */
export const meanings: Readonly<Partial<Record<ErrorCode, string>>> = {
  BIGQUERY_BUSY: 'BigQuery has too many waiting statements on a table, or a rate limit was reached.',
  BIGQUERY_CONFLICT: 'Another statement changed the same rows at the same time.',
  BIGQUERY_DUPLICATE: 'BigQuery already has a job with this id, because the answer to the first submission was lost.',
  BIGQUERY_STREAMING_BUFFER: 'Rows that were streamed into a table within the last half hour cannot be changed yet.',
  BIGQUERY_UNAVAILABLE: 'BigQuery answered 5xx, or a fault of BigQuery ended the job.',
  BIGQUERY_UNREACHABLE: 'The connection to BigQuery broke, or no answer came in time.',
  PROOF_KEY: 'The key of the proof chain is too short, or is not the key of this store.',
  SEGMENT_GONE: 'Another process has drained a part of the spool first.',
  SIMULATOR_FOREIGN_ORIGIN: 'A web page from another site called the control address of the simulator.',
  SIMULATOR_METHOD_UNKNOWN: 'The simulator has no control method of that name.',
  SIMULATOR_REQUEST_INVALID: 'The simulator cannot read the body of a request to the control address.',
  SIMULATOR_TOKEN_WRONG: 'The control token is missing or from an earlier run.',
  USAGE_INIT: 'callsync init has no terminal for its questions, an option is missing, or the file exists already.',
  LIST_SHAPE: 'An answer of the list has no records or no total where the configuration says they are.',
  TOMBSTONE_KEY: 'The tombstone key is missing, is too short, or is not the key of this store.',
};

export interface FoundCode {
  readonly code: ErrorCode;
  readonly kinds: ReadonlySet<'terminal' | 'transient'>;
  /** A message with its hint, as one place in the source has them; the other one may be made elsewhere. */
  readonly says: readonly { readonly message?: string | undefined; readonly hint?: string | undefined }[];
  readonly files: ReadonlySet<string>;
}

/** The table of BigQuery's faults names codes without a call; `stop` and `missing` are terminal. */
const judged = /meaning:\s*'(duplicate|missing|lost|again|gone|quota|stop)',\s*code: $/;
const isErrorCode = (text: string): text is ErrorCode => errorCodes.has(text as ErrorCode);
const isFinal = (meaning: string): boolean => /stop|missing/.test(meaning);
const byBigquery = 'BigQuery could not …: ….';
const literal = /'([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)'/g;
const roots = ['src', 'activities', 'workflows'];

const sources = (root: string): { path: string; text: string }[] =>
  roots.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ path: path.slice(root.length + 1), text: readFileSync(path, 'utf8') })),
  );

/** The text of a literal that begins at `start`, with … for inserted values. Undefined = no literal. */
const readLiteral = (text: string, start: number): string | undefined => {
  const quote = text[start];
  if (quote !== "'" && quote !== '`' && quote !== '"') return undefined;
  let end = start + 1;
  let read = '';
  for (; end < text.length && text[end] !== quote; end += 1) {
    if (text[end] === '\\') {
      end += 1;
      read += text[end];
    } else if (quote === '`' && text.startsWith('${', end)) {
      for (let depth = 0; ; end += 1) {
        if (text[end] === '{') depth += 1;
        if (text[end] === '}' && --depth === 0) break;
      }
      read += '…';
    } else read += text[end];
  }
  return read;
};

/** From the code to the end of the call or object that it stands in. */
const surroundings = (text: string, at: number): string => {
  let depth = 0;
  for (let end = at; end < text.length; end += 1) {
    if ('({['.includes(text[end] ?? '')) depth += 1;
    if (')}]'.includes(text[end] ?? '') && --depth < 0) return text.slice(at, end);
  }
  return text.slice(at);
};

export const findErrorCodes = (root: string): readonly FoundCode[] => {
  const found = new Map<
    ErrorCode,
    {
      kinds: Set<'terminal' | 'transient'>;
      judged: Set<'terminal' | 'transient'>;
      says: FoundCode['says'][number][];
      files: Set<string>;
    }
  >();
  for (const { kind, code, message, hint } of databaseFaults) {
    const one = found.get(code) ?? { kinds: new Set(), judged: new Set(), says: [], files: new Set() };
    found.set(code, one);
    one.kinds.add(kind);
    one.files.add('src/postgres/errors.ts');
    one.says.push({ message, hint });
  }
  for (const [meaning, code, , hint] of bigqueryFaults) {
    const one = found.get(code) ?? { kinds: new Set(), judged: new Set(), says: [], files: new Set() };
    found.set(code, one);
    one.judged.add(isFinal(meaning) ? 'terminal' : 'transient');
    one.files.add('src/warehouse/bigquery/errors.ts');
    if (one.says.every((other) => other.hint !== hint)) one.says.push({ message: byBigquery, hint });
  }
  for (const { path, text } of sources(root)) {
    for (const match of text.matchAll(literal)) {
      const [whole, code = ''] = match;
      if (!isErrorCode(code)) continue;
      const one = found.get(code) ?? { kinds: new Set(), judged: new Set(), says: [], files: new Set() };
      found.set(code, one);
      const call = /\b(terminal|transient)\(\s*$/.exec(text.slice(Math.max(0, match.index - 40), match.index));
      const rest = surroundings(text, match.index + whole.length);
      const meaning = judged.exec(text.slice(Math.max(0, match.index - 60), match.index))?.[1];
      if (meaning !== undefined) {
        one.judged.add(isFinal(meaning) ? 'terminal' : 'transient');
        one.files.add(path);
      }
      let message: string | undefined = meaning === undefined ? undefined : byBigquery;
      if (call !== null) {
        one.kinds.add(call[1] as 'terminal' | 'transient');
        one.files.add(path);
        const gap = /^\s*,\s*/.exec(rest)?.[0].length ?? 0;
        message = readLiteral(rest, gap);
      }
      const at = /\bhint:\s*/.exec(rest);
      const isNear = at !== null && (call !== null || at.index < 400);
      const hint = isNear ? readLiteral(rest, at.index + at[0].length) : undefined;
      const isKnown = one.says.some((pair) => pair.message === message && pair.hint === hint);
      if ((message ?? hint) !== undefined && !isKnown) one.says.push({ message, hint });
    }
  }
  const kindsOf = ({ kinds, judged: others }: { kinds: Set<'terminal' | 'transient'>; judged: typeof kinds }) =>
    kinds.size > 0 ? kinds : others;
  return [...found]
    .map(([code, one]) => ({ code, ...one, kinds: kindsOf(one) }))
    .sort((a, b) => (a.code < b.code ? -1 : 1));
};

/** Commands end with their errors; jobs are tried again. */
const ofCommands = /^src\/(app|cli|simulator|pipeline\/go-live)\b/;

const again = ({ code, kinds, files }: FoundCode): string => {
  if (passing.has(code))
    return 'Persists until you change something. If the service answered before, callsync retries for 5 minutes.';
  if (kinds.has('transient') && [...files].every((file) => ofCommands.test(file))) return 'Run the command again.';
  if (kinds.size === 2) return 'The cause decides whether callsync retries; the message says it.';
  return kinds.has('transient') ? 'callsync retries automatically.' : 'Persists until you change something.';
};

/** Code in Markdown would be read as HTML. */
const plain = (text: string): string => text.replaceAll('<', '&lt;').replaceAll('|', '\\|');

const areas: readonly (readonly [title: string, codes: RegExp])[] = [
  ['Arguments and configuration', /^(USAGE|CONFIG|PRESET|AXIS|SECRET|RETENTION_OFF|PRIVACY_OFF|RECONCILE_AXIS)/],
  ['The service', /^(ACCESS|SERVICE|LIST|LINK|REDIRECT|TOKEN|RESPONSE|PAGE|WINDOW|PROBE|REREAD)/],
  ['Webhooks and spool', /^(WEBHOOK|SPOOL|SEGMENT|INBOX|NOT_DURABLE|WAKE|DELIVERY)/],
  ['Going live', /^GO_LIVE/],
  ['PostgreSQL and the store', /^(DATABASE|STORE|LEDGER|POSTGRES|MIGRATION)/],
  ['BigQuery', /^BIGQUERY/],
  ['Warehouses, queries and search', /^(WAREHOUSE|QUERY|SEARCH|LOAD|EXPORT|MART|GRANT|MCP)/],
  ['Proof', /^(PROOF|VERDICT|RECONCILE)/],
  ['Personal data', /^(PRIVACY|ERASURE|TOMBSTONE|SEAL|HOLD|RECEIPT)/],
  ['Temporal and workers', /^(TEMPORAL|WORKFLOW|NO_WORKER|BACKFILL|SCHEDULE|HEARTBEAT)/],
  ['WebSocket frames', /^STREAM/],
  ['Simulator and demo', /^(SIMULATOR|DEMO)/],
  ['Files, ports and this machine', /^/],
];

const row = (message: string, next: string): string => `| ${plain(message)} | ${plain(next)} |`;

const exitCodesOf = ({ code, kinds }: Pick<FoundCode, 'code' | 'kinds'>): string =>
  [...new Set(Array.from(kinds, (kind) => exits[exitOf(new CallsyncError(kind, code, ''))][0]))].sort().join(' or ');

/** Each message with its hint; the next step of the code stands in for a hint that no literal has. */
const renderSays = ({ code, says }: FoundCode): readonly string[] => {
  const todo = nextSteps.get(code);
  const [other] = says.filter(({ message }) => message === undefined).map(({ hint }) => hint);
  const paired = says.filter(({ message }) => message !== undefined);
  const rows = paired.map(({ message = '', hint }) => row(message, hint ?? todo ?? other ?? nextStep(code)));
  const spare = says.filter(({ message }) => message === undefined).map(({ hint = '' }) => row('', hint));
  if (paired.length === 0 && todo !== undefined) spare.push(row(meanings[code] ?? '', todo));
  return ['| message | next step |', '|---|---|', ...rows, ...(paired.length === 0 ? spare : [])];
};

export const renderTroubleshooting = (root: string): string => {
  const codes = findErrorCodes(root);
  const areaOf = (code: string): string => areas.find(([, pattern]) => pattern.test(code))?.[0] ?? '';
  const sections = areas.flatMap(([title]) => {
    const own = codes.filter(({ code }) => areaOf(code) === title);
    if (own.length === 0) return [];
    const entries = own.map((one) => {
      const { code, kinds } = one;
      const means = one.says.some(({ message }) => message !== undefined) ? meanings[code] : undefined;
      return [
        `### ${code}`,
        '',
        ...(means === undefined ? [] : [plain(means), '']),
        ...(kinds.size === 0 ? [] : [`${again(one)} Exit code ${exitCodesOf(one)}.`, '']),
        ...renderSays(one),
        '',
      ].join('\n');
    });
    return [`## ${title}`, '', ...entries];
  });
  return [
    '# Errors',
    '',
    'Generated by `npm run generate` from the source. A failing command prints its code and message, and the next step on the line below. `…`',
    'stands for names and figures. If a message is not enough, run `callsync doctor`: it checks every dependency. Each error names its',
    '[exit code](exit-codes.md).',
    '',
    ...sections,
  ].join('\n');
};
