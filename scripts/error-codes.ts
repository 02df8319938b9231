/** Every error code of the source with what its errors say, as docs/reference/errors.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodesOf, renderExits } from '../src/cli/shell/exit.ts';
import { errorNotes } from './error-notes.ts';

export interface ErrorCode {
  readonly code: string;
  readonly kinds: ReadonlySet<'terminal' | 'transient'>;
  readonly messages: ReadonlySet<string>;
  readonly hints: ReadonlySet<string>;
  readonly files: ReadonlySet<string>;
}

/** Literals of the same form that are no codes of ours: of Node, OpenSSL, undici, BigQuery, Parquet, Temporal, the environment. */
const foreign =
  /^(AUTO_UPGRADE|BYTE_ARRAY|CERT_HAS_EXPIRED|CREATE_NEVER|DEPTH_ZERO_.*|EAI_AGAIN|ERR_.*|LC_ALL|LD_LIBRARY_PATH|LOG_ANALYZER|NEWLINE_DELIMITED_JSON|PG_VERSION|SELF_SIGNED_.*|SQLITE_BUSY|TIMESTAMP_MICROS|UNABLE_TO_.*|UND_ERR_.*|WRITE_EMPTY|(LOAD|INVALID|INTERNAL)_ARGUMENT|HTTPS?_PROXY|NO_PROXY|.*_DIR|ALLOW_.*|USE_.*|TERMINATE_.*)$/;
const literal = /'([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)'/g;
const roots = ['src', 'activities', 'workflows'];

const sources = (root: string): { path: string; text: string }[] =>
  roots.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ path: path.slice(root.length + 1), text: readFileSync(path, 'utf8') })),
  );

/** The text of a literal that begins at `start`; what a template inserts is shown as …; undefined = no literal. */
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

export const findErrorCodes = (root: string): readonly ErrorCode[] => {
  const found = new Map<
    string,
    { kinds: Set<'terminal' | 'transient'>; messages: Set<string>; hints: Set<string>; files: Set<string> }
  >();
  for (const { path, text } of sources(root)) {
    for (const match of text.matchAll(literal)) {
      const [whole, code = ''] = match;
      if (foreign.test(code)) continue;
      const one = found.get(code) ?? { kinds: new Set(), messages: new Set(), hints: new Set(), files: new Set() };
      found.set(code, one);
      const call = /\b(terminal|transient)\(\s*$/.exec(text.slice(Math.max(0, match.index - 40), match.index));
      const rest = surroundings(text, match.index + whole.length);
      if (call !== null) {
        one.kinds.add(call[1] as 'terminal' | 'transient');
        one.files.add(path);
        const gap = /^\s*,\s*/.exec(rest)?.[0].length ?? 0;
        const message = readLiteral(rest, gap);
        if (message !== undefined) one.messages.add(message);
      }
      const hint = /\bhint:\s*/.exec(rest);
      if (hint !== null && (call !== null || hint.index < 400)) {
        const said = readLiteral(rest, hint.index + hint[0].length);
        if (said !== undefined) one.hints.add(said);
      }
    }
  }
  return [...found].map(([code, one]) => ({ code, ...one })).sort((a, b) => (a.code < b.code ? -1 : 1));
};

/** Commands end with their errors; jobs are tried again. */
const ofCommands = /^src\/(cli|simulator|pipeline\/go-live)\b/;

const again = ({ kinds, files }: ErrorCode): string => {
  if (kinds.has('transient') && [...files].every((file) => ofCommands.test(file)))
    return 'It may pass: run the command again.';
  if (kinds.size === 2) return 'Depends on its cause: the message says whether it is tried again.';
  return kinds.has('transient') ? 'Tried again by itself: it may pass.' : 'Stays until somebody changes something.';
};

/** Code in Markdown would be read as HTML. */
const plain = (text: string): string => text.replaceAll('<', '&lt;').replaceAll('|', '\\|');

const noteOf = (code: string): readonly string[] => {
  const note = errorNotes[code];
  if (note === undefined) return [];
  return [
    ...(note.means === undefined ? [] : [`- It means: ${plain(note.means)}`]),
    `- What to do: ${plain(note.todo)}`,
  ];
};

export const renderTroubleshooting = (root: string): string => {
  const entries = findErrorCodes(root).map((one) => {
    const { code, kinds, messages, hints } = one;
    return [
      `## ${code}`,
      '',
      ...(kinds.size === 0 ? [] : [`${again(one)} Exit code ${exitCodesOf(one)}.`, '']),
      ...[...messages].map((message) => `- It says: ${plain(message)}`),
      ...[...hints].map((hint) => `- What to do: ${plain(hint)}`),
      ...noteOf(code),
      '',
    ].join('\n');
  });
  return `# Troubleshooting

Every error has a code. \`callsync doctor\` checks each dependency and says how to repair what is wrong; this page lists the
codes, what their messages say (… stands for names and figures) and what to do. It is written from the source by
\`npm run generate\`.

## Exit codes

Every command ends with one of these; the entry of each error code names the one that it leads to.

| code | meaning |
|---|---|
${renderExits((code, text) => `| ${code} | ${text} |`)}

${entries.join('\n')}`;
};
