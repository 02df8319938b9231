/** How tables and marts hang together, as a diagram in Mermaid and as a drawing. */
import { columnsOf, tables } from '../../schemas/tables.ts';
import { marts } from './marts.ts';

interface Entity {
  readonly name: string;
  readonly isMart: boolean;
  /** Columns of the key and those by which it is joined. */
  readonly columns: readonly { readonly name: string; readonly type: string; readonly isKey: boolean }[];
}

interface Relation {
  readonly from: string;
  readonly to: string;
  readonly by: string;
  /** In Mermaid's crow's feet. */
  readonly ends: string;
}

const shown = marts.filter(({ intermediate }) => intermediate !== true);

const entityOf = (one: {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly isMart: boolean;
}): Entity => ({
  name: one.name,
  isMart: one.isMart,
  columns: one.columns
    .filter(({ name }) => one.key.includes(name) || name === 'call_id')
    .map(({ name, type }) => ({ name, type, isKey: one.key.includes(name) })),
});

const entities: readonly Entity[] = [
  ...tables.map((table) => entityOf({ ...table, columns: columnsOf(table), isMart: false })),
  ...shown.map((mart) => entityOf({ ...mart, isMart: true })),
];

const relations: readonly Relation[] = [
  ...tables
    .filter(({ kind }) => kind === 'child' || kind === 'history')
    .map(({ name }) => ({ from: 'calls', to: name, by: 'call_id', ends: '||--o{' })),
  { from: 'calls', to: 'deliveries', by: 'call_id', ends: '|o--o{' },
  { from: 'loads', to: 'calls', by: 'load_id', ends: '||--o{' },
  { from: 'calls', to: 'calls_wide', by: 'call_id', ends: '||--||' },
  ...shown
    .filter(({ name, columns }) => name !== 'calls_wide' && columns.some((column) => column.name === 'call_id'))
    .map(({ name, key }) => ({
      from: 'calls_wide',
      to: name,
      by: 'call_id',
      ends: `||--o${key.length > 1 ? '{' : '|'}`,
    })),
  ...shown
    .filter(({ name, key }) => name !== 'completeness_daily' && key[0] === 'business_day')
    .map(({ name }) => ({ from: 'completeness_daily', to: name, by: 'business_day', ends: '||--o{' })),
];

export const renderMermaid = (): string =>
  [
    'erDiagram',
    ...relations.map(({ from, to, by, ends }) => `  ${from} ${ends} ${to} : ${by}`),
    ...entities.flatMap(({ name, columns }) => [
      `  ${name} {`,
      ...columns.map((column) => `    ${column.type} ${column.name}${column.isKey ? ' PK' : ''}`),
      '  }',
    ]),
  ].join('\n');

const line = 16;
const width = 190;
const gap = { x: 90, y: 18 } as const;
const heightOf = ({ columns }: Entity): number => (columns.length + 1) * line + 8;

/** Left to right: what is of a call, calls and logs, marts of calls, marts of days. */
const laneOf = ({ name, isMart }: Entity): number => {
  if (isMart) return name.endsWith('_daily') ? 3 : 2;
  return tables.some(({ name: one, kind }) => one === name && (kind === 'child' || kind === 'history')) ? 0 : 1;
};

interface Box extends Entity {
  readonly x: number;
  readonly y: number;
}

const placeBoxes = (): readonly Box[] => {
  const bottoms = [10, 10, 10, 10];
  return entities.map((entity) => {
    const lane = laneOf(entity);
    const y = bottoms[lane] ?? 10;
    bottoms[lane] = y + heightOf(entity) + gap.y;
    return { ...entity, x: 10 + lane * (width + gap.x), y };
  });
};

/** A standalone SVG: boxes of tables (square) and marts (round), and lines from the side of what is one to what are many. */
export const renderErSvg = (): string => {
  const boxes = placeBoxes();
  const byName = new Map(boxes.map((box) => [box.name, box]));
  const [right, bottom] = [
    Math.max(...boxes.map(({ x }) => x)) + width + gap.x / 2,
    Math.max(...boxes.map((box) => box.y + heightOf(box))) + 10,
  ];
  const lines = relations.flatMap(({ from, to, by }) => {
    const [a, b] = [byName.get(from), byName.get(to)];
    return a === undefined || b === undefined ? [] : [drawRelation(a, b, by)];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${right} ${bottom}" font-family="sans-serif" font-size="12" role="img">`,
    '<title>Tables and marts of callsync, and the columns by which they are joined</title>',
    `<rect width="${right}" height="${bottom}" fill="#fff"/>`,
    ...lines,
    ...boxes.map(drawBox),
    '</svg>',
    '',
  ].join('\n');
};

const drawBox = (box: Box): string => {
  const { x, y, name, columns, isMart } = box;
  const frame = `<rect x="${x}" y="${y}" width="${width}" height="${heightOf(box)}" rx="${isMart ? 8 : 0}" fill="${isMart ? '#eef5ff' : '#f6f6f6'}" stroke="#555"/>`;
  const rows = columns.map(
    (column, index) =>
      `<text x="${x + 8}" y="${y + (index + 2) * line}" fill="#333">${column.name}${column.isKey ? ' (key)' : ''}</text>`,
  );
  return [frame, `<text x="${x + 8}" y="${y + line}" font-weight="bold">${name}</text>`, ...rows].join('\n');
};

/** Between neighbouring lanes straight across; within a lane around its right side. */
const drawRelation = (from: Box, to: Box, by: string): string => {
  const [ay, by2] = [from.y + line, to.y + line];
  const title = `<title>${from.name} to ${to.name} by ${by}</title>`;
  const [start, end] = to.x > from.x ? [from.x + width, to.x] : [from.x, to.x + width];
  const around = from.x + width + gap.x / 3;
  const path =
    from.x === to.x
      ? `M${from.x + width} ${ay} H${around} V${by2} H${to.x + width}`
      : `M${start} ${ay} H${(start + end) / 2} V${by2} H${end}`;
  const dot = from.x === to.x ? to.x + width : end;
  return `<g>${title}<path d="${path}" fill="none" stroke="#888"/><circle cx="${dot}" cy="${by2}" r="3" fill="#555"/></g>`;
};
