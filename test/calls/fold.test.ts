import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Observation } from '../../schemas/observation.ts';
import { tableOf } from '../../schemas/tables.ts';
import { flattenCall } from '../../src/calls/flatten.ts';
import {
  emptyRow,
  fold,
  foldErasure,
  type LedgerRow,
  needsDocument,
  prepareObservation,
  renderDocument,
} from '../../src/calls/fold.ts';
import { observeRecord } from '../../src/source/list/observe.ts';
import { canonicalRow } from '../../src/warehouse/digest.ts';
import { observationOf } from '../support/pipeline.ts';
import { observationsInOrders } from './observations.ts';
import { expectedDocument } from './winner.ts';

const foldAll = (observations: readonly Observation[]): LedgerRow =>
  observations.map(prepareObservation).reduce(fold, emptyRow('c'));

/** As it is once stored and read again. */
const stored = (row: LedgerRow): LedgerRow => ({
  ...row,
  document: JSON.parse(renderDocument(row).toString()),
  json: {},
});

/** The columns of a call in warehouses, without the seen times. */
const flatRows = (row: LedgerRow): Record<string, string[]> => {
  const { callId, document } = row;
  const unseen = { firstSeenAt: null, changedAt: null, sourceDeletedAt: null };
  const { rows } = flattenCall({ callId, document, ...unseen }, { documents: true });
  return Object.fromEntries(
    Object.entries(rows).map(([name, list]) => [
      name,
      list.map((one) => canonicalRow(tableOf(name as 'calls').columns, one)),
    ]),
  );
};

describe('observations in any order and number', () => {
  test('end as the same document, versions and rows, and as the order of design.md demands', () => {
    fc.assert(
      fc.property(observationsInOrders('c'), ({ observations, arrivals }) => {
        const expected = expectedDocument(observations);
        const [first, ...others] = arrivals.map(foldAll);
        expect(first?.document).toEqual(expected);
        for (const other of others) {
          expect(other.document).toEqual(expected);
          expect(other.versions).toEqual(first?.versions);
          expect(other.firstSeenAt).toBe(first?.firstSeenAt);
          expect(other.lastSeenAt).toBe(first?.lastSeenAt);
          expect(other.seenBy).toEqual(first?.seenBy);
          expect(flatRows(other)).toEqual(flatRows(first as LedgerRow));
        }
      }),
      { numRuns: 300 },
    );
  });

  test('rows of one revision are the same, whatever was seen since: warehouses load them at different times', () => {
    const shown = ({ document, firstSeenAt, changedAt, sourceDeletedAt }: LedgerRow): unknown => ({
      document,
      firstSeenAt,
      changedAt,
      sourceDeletedAt,
    });
    fc.assert(
      fc.property(observationsInOrders('c'), ({ arrivals }) => {
        for (const observations of arrivals) {
          const revisions = new Map<number, unknown>();
          let row = emptyRow('c');
          for (const observation of observations.map(prepareObservation)) {
            row = fold(row, observation);
            if (revisions.has(row.revision)) expect(shown(row)).toEqual(revisions.get(row.revision));
            revisions.set(row.revision, shown(row));
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  test('end the same whether the row went through the store in between or not, with the document fetched only when asked for', () => {
    fc.assert(
      fc.property(observationsInOrders('c', 1), ({ arrivals: [arrival = []] }) => {
        const whole = foldAll(arrival);
        const stepped = arrival.map(prepareObservation).reduce((row, observation) => {
          const head = { ...stored(row), document: row.revision === 0 ? {} : null };
          if (needsDocument(head, observation)) return fold(stored(row), observation);
          const next = fold(head, observation);
          return { ...next, document: next.document ?? stored(row).document };
        }, emptyRow('c'));
        expect(stepped.document).toEqual(whole.document);
        expect(stepped.versions).toEqual(whole.versions);
        expect(stepped.revision).toBe(whole.revision);
        expect(flatRows(stored(whole))).toEqual(flatRows(whole));
      }),
      { numRuns: 200 },
    );
  });

  test('a tombstone among them wins and stays', () => {
    fc.assert(
      fc.property(observationsInOrders('c', 1), fc.nat(), ({ arrivals: [arrival = []] }, position) => {
        const cut = position % (arrival.length + 1);
        const before = arrival.slice(0, cut).map(prepareObservation).reduce(fold, emptyRow('c'));
        const erased = foldErasure(before);
        expect(erased).toMatchObject({ tombstone: true, revision: before.revision + 1, versions: {}, document: {} });
        expect(arrival.slice(cut).map(prepareObservation).reduce(fold, erased)).toBe(erased);
        expect(foldErasure(erased)).toBe(erased);
      }),
      { numRuns: 300 },
    );
  });
});

test('of one instant a poll wins over a webhook, and a webhook over an import', () => {
  const ways = (['poll', 'import', 'webhook'] as const).map((way) => observationOf('c', 7, { status: way }, way));
  expect([foldAll(ways), foldAll(ways.slice(1))].map((row) => row.document?.status)).toEqual(['poll', 'webhook']);
});

describe('a list that carries fewer fields than the webhook', () => {
  const at = 1_700_000_000_000_000;
  const full = observationOf(
    'c',
    at,
    {
      transcript_json: { callData: [{ content: 'hello' }] },
      tags: [{ unique_id: 't' }],
      metadata: { Agent: 'x' },
      status: 'qualified',
    },
    'webhook',
  );
  const polled = (record: object, carries: string[] = []): Observation => {
    const observed = observeRecord(record, { observedAt: at + 60_000_000, carries: new Set(carries) });
    if (observed.kind === 'rejected') throw new Error(observed.reason);
    return observed.observation;
  };

  test('erases nothing that it does not send, or sends empty', () => {
    const seen = polled({
      unique_id: 'c',
      status: 'void',
      transcript_json: null,
      tags: [],
      metadata: {},
      campaign: '',
    });
    for (const order of [
      [full, seen],
      [seen, full],
    ])
      expect(foldAll(order).document).toEqual({ ...full.fields, status: 'void' });
  });

  test('replaces content with null or empty only in fields that it is known to carry', () => {
    const seen = polled({ unique_id: 'c', transcript_json: null, tags: [], metadata: null }, ['tags', 'metadata']);
    for (const order of [
      [full, seen],
      [seen, full],
    ])
      expect(foldAll(order).document).toEqual({ ...full.fields, tags: [], metadata: null });
  });
});

describe('what no store could hold', () => {
  const parse = (json: string) => ({
    callId: 'c',
    source: 'webhook' as const,
    observedAt: 1,
    fields: JSON.parse(json),
  });

  test('fields named like what every object has are fields', () => {
    const json = '{"unique_id":"c","constructor":"a","__proto__":{"x":1},"toString":2,"hasOwnProperty":null}';
    const row = foldAll([parse(json)]);
    expect(JSON.parse(renderDocument(row).toString())).toEqual(JSON.parse(json));
    expect(JSON.parse(renderDocument({ ...row, json: {} }).toString())).toEqual(JSON.parse(json));
    const changed = fold(row, prepareObservation({ ...parse('{"unique_id":"c","constructor":"b"}'), observedAt: 2 }));
    expect(Object.entries(changed.document ?? {})).toContainEqual(['constructor', 'b']);
    expect(
      needsDocument({ ...row, document: null }, prepareObservation({ ...parse('{"valueOf":1}'), observedAt: 2 })),
    ).toBe(true);
  });

  test('numbers beyond a double read the same from memory and from the store', () => {
    const row = foldAll([parse('{"unique_id":"c","duration":1e999,"extra":[{"n":-1e999}],"fine":1e308}')]);
    expect(row.document).toEqual({ unique_id: 'c', duration: 'Infinity', extra: [{ n: '-Infinity' }], fine: 1e308 });
    expect(flatRows(stored(row))).toEqual(flatRows(row));
  });

  test('names with NUL or half characters are cleaned, in the same way whatever else the record has', () => {
    const row = foldAll([parse('{"unique_id":"c","a\\u0000":1,"a\\ufffd":2,"\\ud800":3}')]);
    expect(row.document).toEqual({ unique_id: 'c', 'a\ufffd': 2, '\ufffd': 3 });
  });

  test('a record nested too deeply is refused before anything recurses over it', () => {
    const nest = (depth: number) => parse(`{"unique_id":"c","deep":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    expect(() => prepareObservation(nest(199))).not.toThrow();
    expect(() => prepareObservation(nest(200))).toThrow(RangeError);
    expect(() => prepareObservation(nest(100_000))).toThrow(RangeError);
    const mixed = { ...parse('{}'), fields: { unique_id: 'c', n: [Number.POSITIVE_INFINITY, nest(300).fields] } };
    expect(() => prepareObservation(mixed)).toThrow(RangeError);
  });
});
