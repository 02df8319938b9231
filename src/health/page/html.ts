/** HTML as a value, and tables of rows. */

/** HTML as a value. Every inserted value is escaped unless it is HTML itself. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Part = Html | string | number | false | null | undefined | readonly Part[];

const escapes: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };

const render = (part: Part): string => {
  if (part instanceof Html) return part.text;
  if (part === false || part === null || part === undefined) return '';
  if (typeof part === 'object') return part.map(render).join('');
  return String(part).replace(/[&<>"']/g, (character) => `&${escapes[character]};`);
};

/** Text and attribute values are escaped alike: attributes must be quoted. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.map((text, index) => text + render(parts[index])).join(''));

/** Cells by their heads; the first is the head of its row. Narrow screens show each row as a card. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => Part>>;
const isEmpty = (cell: Part): boolean => cell === null || cell === undefined || cell === false || cell === '';
/** Leaves out columns without content. */
export const table = <Row>(title: string, columns: Columns<Row>, rows: readonly Row[]): Html => {
  const filled = Object.entries(columns).filter(([, cell]) => rows.some((row) => !isEmpty(cell(row))));
  const [[, first] = ['', (): Part => ''], ...others] = filled;
  const heads = filled.map(([head]) => html`<th scope="col">${head}</th>`);
  const body = rows.map(
    (row) =>
      html`<tr><th scope="row">${first(row)}</th>${others.map(([head, cell]) => html`<td data-head="${head}">${cell(row)}</td>`)}</tr>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${title} as a table"><table><thead><tr>${heads}</tr></thead><tbody>${body}</tbody></table></div>`;
};
