/** Drawings of the docs: how tables and marts are joined, and the way of a call. Standalone SVG, light on any page. */
import { columnsOf, tables } from '../schemas/tables.ts';
import { joins, shownMarts } from './marts-page.ts';

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** The first is bold. */
  readonly lines: readonly string[];
  readonly fill: string;
}

const line = 16;
const stroke = '#8a939c';

const drawBox = ({ x, y, width, height, lines, fill }: Box): string =>
  [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6" fill="${fill}" stroke="#555"/>`,
    ...lines.map((text, index) => {
      const weight = index === 0 ? ' font-weight="bold"' : '';
      return `<text x="${x + 9}" y="${y + 18 + index * line}"${weight} fill="#1a1d21">${text}</text>`;
    }),
  ].join('\n');

const drawSvg = (title: string, boxes: readonly Box[], lines: readonly string[]): string => {
  const right = Math.max(...boxes.map(({ x, width }) => x + width)) + 24;
  const bottom = Math.max(...boxes.map(({ y, height }) => y + height)) + 30;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${right} ${bottom}" font-family="system-ui, sans-serif" font-size="13" role="img">`,
    `<title>${title}</title>`,
    `<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#555"/></marker></defs>`,
    `<rect width="${right}" height="${bottom}" fill="#fff"/>`,
    ...lines,
    ...boxes.map(drawBox),
    '</svg>',
    '',
  ].join('\n');
};

/** Left to right: rows of a call, calls and logs, marts of calls, marts of days and weeks. */
const laneOf = (name: string, isMart: boolean): number => {
  if (isMart) return /_(daily|weekly|words)$/.test(name) ? 3 : 2;
  return ['child', 'history'].includes(tables.find((one) => one.name === name)?.kind ?? '') ? 0 : 1;
};

/** Each table and mart with its key; a line from the side that has one row to each side that has many. */
export const drawRelations = (): string => {
  const [width, gap] = [156, 44];
  const bottoms = [20, 20, 20, 20];
  const all = [
    ...tables.map((table) => ({ ...table, columns: columnsOf(table), isMart: false })),
    ...shownMarts.map((mart) => ({ ...mart, isMart: true })),
  ];
  const boxes = new Map(
    all.map(({ name, key, isMart }): [string, Box] => {
      const lane = laneOf(name, isMart);
      const lines = [name, ...key];
      const [y = 0, height] = [bottoms[lane], lines.length * line + 10];
      bottoms[lane] = y + height + 18;
      return [name, { x: 20 + lane * (width + gap), y, width, height, lines, fill: isMart ? '#eaf2ff' : '#f4f4f2' }];
    }),
  );
  const lines = joins.flatMap(([from, to, by]) =>
    to.map((name) => {
      const [a, b] = [boxes.get(from) as Box, boxes.get(name) as Box];
      const [ay, by2] = [a.y + line, b.y + line];
      const start = b.x < a.x ? a.x : a.x + width;
      const end = b.x > a.x ? b.x : b.x + width;
      const middle = a.x === b.x ? start + gap / 3 : (start + end) / 2;
      const path = `M${start} ${ay} H${middle} V${by2} H${end}`;
      return `<g><title>${from} to ${name} by ${by}</title><path d="${path}" fill="none" stroke="${stroke}"/><circle cx="${end}" cy="${by2}" r="3" fill="#555"/></g>`;
    }),
  );
  return drawSvg(
    'Tables (grey) and marts (blue) of callsync with their keys, and the columns that join them',
    [...boxes.values()],
    lines,
  );
};

const steps: Readonly<Record<string, readonly [column: number, row: number, ...lines: string[]]>> = {
  list: [0, 0, 'Service: list', 'GET /calls'],
  hooks: [0, 1, 'Service: webhooks', 'signed deliveries'],
  read: [1, 0, 'Worker', 'complete windows,', 'privacy rules'],
  receive: [1, 1, 'Receiver', 'signature, rules;', 'stores, then answers'],
  spool: [1, 2, 'Spool', 'while the store is away'],
  inbox: [2, 1, 'Inbox', 'merged by workers'],
  ledger: [2, 0, 'Ledger', 'a document a call,', 'a revision a change'],
  loads: [3, 0, 'Load', 'rows with guards,', 'one transaction'],
  warehouses: [3, 1, 'Warehouses', 'PostgreSQL, BigQuery:', 'tables and marts'],
  proof: [3, 2, 'Reconcile', 'compares list, ledger', 'and warehouses; signs'],
};
const arrows =
  'list-read read-ledger hooks-receive receive-inbox receive-spool spool-inbox inbox-ledger ledger-loads loads-warehouses';
const comparisons = 'ledger-proof warehouses-proof';

/** From the service to the warehouses, and the comparison that proves it. */
export const drawFlow = (): string => {
  const [width, height] = [168, 66];
  const boxes = Object.fromEntries(
    Object.entries(steps).map(([name, [column, row, ...lines]]) => {
      const fill = { list: '#f4f4f2', hooks: '#f4f4f2', warehouses: '#eaf2ff', proof: '#e6f4ea' }[name] ?? '#fff';
      return [name, { x: 20 + column * (width + 34), y: 20 + row * 96, width, height, lines, fill }];
    }),
  );
  const draw = (dash: string) => (pair: string) => {
    const [a, b] = pair.split('-').map((name) => boxes[name] as Box) as [Box, Box];
    const isAbove = a.x === b.x;
    const isBack = b.x < a.x;
    const [ax, ay] =
      isAbove || isBack ? [a.x + width / 2, a.y + (b.y > a.y ? height : 0)] : [a.x + width, a.y + height / 2];
    const [bx, by] = isAbove
      ? [b.x + width / 2, b.y + (b.y > a.y ? 0 : height)]
      : [isBack ? b.x + width : b.x, b.y + height / 2];
    const middle = (ax + bx) / 2;
    const path = isAbove
      ? `M${ax} ${ay} V${by}`
      : isBack
        ? `M${ax} ${ay} V${by} H${bx}`
        : `M${ax} ${ay} H${middle} V${by} H${bx}`;
    return `<path d="${path}" fill="none" stroke="#555"${dash} marker-end="url(#to)"/>`;
  };
  const lines = [...arrows.split(' ').map(draw('')), ...comparisons.split(' ').map(draw(' stroke-dasharray="5 4"'))];
  return drawSvg('The way of a call from the service to the warehouses, and its proof', Object.values(boxes), lines);
};
