/** A recording of a terminal as a moving picture: an SVG that loops, and rests where a reader wants no motion. */

interface Chunk {
  /** Seconds since the chunk before. */
  readonly after: number;
  readonly text: string;
}

interface Frame {
  readonly seconds: number;
  readonly rows: readonly string[];
}

/** Reads the files of `script --log-out --log-timing`. */
export const readRecording = (out: Buffer, timing: string): readonly Chunk[] => {
  // The first line is of `script` itself.
  let at = out.indexOf('\n') + 1;
  return timing
    .trim()
    .split('\n')
    .map((line) => {
      const [after = 0, bytes = 0] = line.split(' ').map(Number);
      at += bytes;
      return { after, text: out.toString('utf8', at - bytes, at) };
    });
};

interface Size {
  readonly columns: number;
  readonly rows: number;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's own
const tokens = /\x1b\[([?\d;]*)([A-Za-z])|\x1b[78]|[\r\n]|[^\x1b\r\n]+/g;

/** The screen after each chunk. Knows the few controls that progress bars use; colours and other controls are left out. */
const createScreen = ({ columns, rows }: Size) => {
  let lines: string[] = [''];
  let column = 0;
  let saved = 0;
  let wraps = true;
  const last = (): string => lines.at(-1) ?? '';
  const put = (text: string): void => {
    for (const char of text) {
      if (column >= columns) {
        if (!wraps) return;
        lines.push('');
        column = 0;
      }
      lines[lines.length - 1] = last().padEnd(column).slice(0, column) + char + last().slice(column + 1);
      column += 1;
    }
  };
  const control = (parameter: string, command: string): void => {
    if (command === 'G') column = Number(parameter || 1) - 1;
    if (command === 'K') lines[lines.length - 1] = last().slice(0, column);
    if (parameter === '?7') wraps = command === 'h';
  };
  return (text: string): readonly string[] => {
    for (const [token, parameter, command] of text.matchAll(tokens)) {
      if (command !== undefined) control(parameter ?? '', command);
      else if (token === '\x1b7') saved = column;
      else if (token === '\x1b8') column = saved;
      else if (token === '\r') column = 0;
      else if (token === '\n') lines.push('');
      else put(token);
    }
    lines = lines.slice(-rows);
    return [...lines];
  };
};

const [lineHeight, charWidth, margin] = [18, 7.8, 14];
/** Longest pause, and the rest at the end, in seconds. */
const [longestPause, restAtEnd] = [1.6, 8];

const escapeText = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const drawFrame = ({ rows }: Frame, index: number): string =>
  `<g class="f" style="animation-name:f${index}">${rows.map((row, at) => (row.trim() === '' ? '' : `<text x="${margin}" y="${margin + (at + 0.8) * lineHeight}">${escapeText(row)}</text>`)).join('')}</g>`;

/** @param command that the recording ran, shown as typed */
export const drawRecording = (chunks: readonly Chunk[], command: string, size: Size): string => {
  const show = createScreen(size);
  const prompt = show(`$ ${command}\r\n`);
  const shown = chunks.map(({ text }) => show(text));
  const pauses = [...chunks.map(({ after }) => Math.min(after, longestPause)), restAtEnd];
  const frames = [prompt, ...shown]
    .map((rows, index): Frame => ({ rows, seconds: pauses[index] ?? 0 }))
    // Parts of one write are no picture of their own.
    .filter(({ seconds }) => seconds > 0.1);
  const total = frames.reduce((sum, { seconds }) => sum + seconds, 0);
  let at = 0;
  const keyframes = frames.map(({ seconds }, index) => {
    const [from, to] = [at, at + seconds].map((one) => `${((100 * one) / total).toFixed(2)}%`);
    at += seconds;
    const before = index === 0 ? '' : '0%{visibility:hidden}';
    const after = index === frames.length - 1 ? '' : `${to}{visibility:hidden}`;
    return `@keyframes f${index}{${before}${from}{visibility:visible}${after}}`;
  });
  const [width, height] = [2 * margin + size.columns * charWidth, 2 * margin + size.rows * lineHeight];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escapeText(command)}, recorded from a terminal; pauses are at most ${longestPause} s</title>`,
    `<style>text{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e8eaed;white-space:pre}.f{visibility:hidden;animation:${total.toFixed(1)}s step-end infinite}${keyframes.join('')}@media(prefers-reduced-motion:reduce){.f{animation:none}.f:last-of-type{visibility:visible}}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#16191d"/>`,
    ...frames.map(drawFrame),
    '</svg>',
    '',
  ].join('\n');
};
