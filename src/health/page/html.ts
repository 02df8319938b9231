/** HTML as a value, and figures as an operator reads them: whatever is put into a template is escaped, unless it is HTML itself. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Part = Html | string | number | false | null | undefined | readonly Part[];

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const render = (part: Part): string => {
  if (part instanceof Html) return part.text;
  if (part === false || part === null || part === undefined) return '';
  if (typeof part === 'object') return part.map(render).join('');
  return String(part).replace(/[&<>"']/g, (character) => escapes[character] ?? '');
};

/** Text and attribute values are escaped alike: attributes must be quoted. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.map((text, index) => text + render(parts[index])).join(''));

const number = new Intl.NumberFormat('en-US');

export const formatCount = (count: number): string => number.format(Math.round(count));
export const formatShare = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

/** Such as `41 s`, `12 min`, `3.5 h`, `2.0 days`; `–` for null. */
export const formatSpan = (seconds: number | null): string => {
  if (seconds === null) return '–';
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 100) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 6_000) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${(seconds / 3_600).toFixed(1)} h` : `${(seconds / 86_400).toFixed(1)} days`;
};

/** UTC, to the second. */
export const formatInstant = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
