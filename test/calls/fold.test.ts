/** Arbitrary observations of one call: few values and few times, so that ties, equal values and collisions are common. */

import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CallDocument } from '../../schemas/call.ts';
import { type Observation, type ObservationSource, sourceRank } from '../../schemas/observation.ts';
import { type Row, tableOf } from '../../schemas/tables.ts';
import { flattenCall, flattenChanges } from '../../src/calls/flatten.ts';
import {
  emptyRow,
  fold,
  foldErasure,
  foldRules,
  identifyRecord,
  type LedgerRow,
  needsDocument,
  prepareObservation,
  renderDocument,
} from '../../src/calls/fold.ts';
import { JsonRecord, readRecord } from '../../src/lib/json-record.ts';
import { observeRecord } from '../../src/source/list/observe.ts';
import { canonicalRow } from '../../src/warehouse/content-hash.ts';
import { forAll } from '../support/for-all.ts';
import { inheritedNames, withInheritedNames } from '../support/inherited-names.ts';
import { observationOf } from '../support/pipeline.ts';

/** The same value with the keys of its objects in another order. */
const reorder = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reorder);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, item]) => [key, reorder(item)]);
  return Object.fromEntries(entries.reverse());
};

const varied = (...values: unknown[]) =>
  fc.tuple(fc.constantFrom(...values), fc.boolean()).map(([value, turn]) => (turn ? reorder(value) : value));

const transcript = (content: string) => {
  const words = [{ value: content, start: 0.5, length: 1, score: 0.9 }];
  const said = { from: 'out', content, datetime: 0.5, duration: 2, words };
  const meta = { lang: 'fr', obfuscated: 'true', ivr_end: 1.5 };
  return { callData: [said, { from: 'in', content: 'yes', datetime: 3, words: [] }], callUniqueId: '', meta };
};

const fieldValues: Record<string, fc.Arbitrary<unknown>> = {
  timestamp: varied('2023-12-04T15:18:29Z', '2023-12-05T00:00:00+02:00', 'yesterday', null),
  status: varied('qualified', 'void', '', null),
  duration: varied('123', '124.5', 7, ''),
  campaign: varied('a', 'b', null),
  transcript_json: varied(transcript('bonjour'), transcript('au revoir'), null, {}),
  metadata: varied(
    { ClientID: '1', Agent: 'x', UDF_num_01: '5', UDF_text_02: 'b' },
    { ClientID: '1', Agent: 'y', UDF_num_01: 'n/a' },
    { Nested: { b: 1, a: [{ d: 1, c: 2 }] }, Agent: 'x' },
    withInheritedNames('x'),
    {},
    null,
  ),
  tags: varied([{ unique_id: 't1', display_name: 'One', confidence: 0.5, type: 'bool', value: true }], [], null),
  in: varied({ label: null, data: '+33 1 23', type: 'PHONE' }, { label: 'A', data: '0033123', type: 'PHONE' }, null),
  visit: varied({ source: 'ad', pages: 3 }, { pages: 3, source: 'ad', more: { y: 1, x: 2 } }, null),
  qualified: varied('2023-12-04T16:00:00Z', '2023-12-04T16:00:00.5Z'),
  'dirty\0name': varied(1, 2),
  unknown: varied([1, 'x'], 1e308, { b: 1, a: 2 }),
};
const inherited = inheritedNames.map((name) => [name, varied('built', { b: 1, a: 2 })] as const);

const sources: readonly ObservationSource[] = ['import', 'webhook', 'poll'];

/** Fields that the simulated list carries, so that null from it is content. */
const carries: ReadonlySet<string> = new Set(['status', 'tags', 'visit']);

/** Some of the fields, each with a value. */
const someFields = fc.record(Object.fromEntries([...Object.entries(fieldValues), ...inherited]), { requiredKeys: [] });

const observe = (record: object, observedAt: number, carried: ReadonlySet<string>): Observation => {
  const observed = observeRecord(record, { observedAt, carries: carried });
  if (observed.kind === 'rejected') throw new Error(observed.reason);
  return observed.observation;
};

const anyObservation = (callId: string): fc.Arbitrary<Observation> =>
  fc.tuple(fc.constantFrom(...sources), fc.integer({ min: 0, max: 4 }), someFields).map(([source, n, fields]) => {
    const observedAt = 1_700_000_000_000_000 + n * 500_000;
    // Built from pairs, as JSON.parse does it, so that `__proto__` is a field.
    const record: CallDocument = Object.fromEntries([['unique_id', callId], ...Object.entries(fields)]);
    if (source === 'poll') return observe(record, observedAt, carries);
    return { callId, source, observedAt, fields: new JsonRecord(record) };
  });

/** Each observation at least once, some of them more often. */
const arrivalOf = (observations: readonly Observation[]) =>
  fc
    .tuple(
      fc.shuffledSubarray([...observations], { minLength: observations.length }),
      fc.array(fc.tuple(fc.constantFrom(...observations), fc.nat()), { maxLength: 5 }),
    )
    .map(([arrival, again]) => again.reduce((all, [one, at]) => all.toSpliced(at % (all.length + 1), 0, one), arrival));

/** Observations and orders in which they arrive. */
const observationsInOrders = (callId: string, orders = 2) =>
  fc.array(anyObservation(callId), { minLength: 1, maxLength: 7 }).chain((observations) => {
    const arrivals = fc.array(arrivalOf(observations), { minLength: orders, maxLength: orders });
    return fc.record({ observations: fc.constant(observations), arrivals });
  });

/** An independent reading of design.md's order: the value that each field must end with. */
const clean = (name: string): string => name.replaceAll('\0', '\ufffd');

const later = (a: Observation, b: Observation, name: string): number => {
  if (a.observedAt !== b.observedAt) return a.observedAt - b.observedAt;
  if (a.source !== b.source) return sourceRank[a.source] - sourceRank[b.source];
  const [x, y] = [a, b].map((one) => hash('sha256', JSON.stringify(one.fields.value(name)), 'base64').slice(0, 22));
  return (x as string) < (y as string) ? -1 : x === y ? 0 : 1;
};

const expectedDocument = (observations: readonly Observation[]): CallDocument => {
  const names = new Set(observations.flatMap((observation) => observation.fields.names));
  return Object.fromEntries(
    [...names].map((name) => {
      const carrying = observations.filter((observation) => Object.hasOwn(observation.fields.held, name));
      const winner = carrying.reduce((best, one) => (later(one, best, name) > 0 ? one : best));
      return [clean(name), winner.fields.value(name)];
    }),
  );
};

const unknown: LedgerRow = { ...emptyRow, callId: 'c' };

const foldAll = (observations: readonly Observation[]): LedgerRow =>
  observations.map(prepareObservation).reduce(fold, unknown);

const recordIn = (json: Buffer) => readRecord(json).value as JsonRecord;

/** As it is once stored and read again. */
const stored = (row: LedgerRow) => ({ ...row, document: recordIn(renderDocument(row.document ?? new JsonRecord())) });

/** The columns of a call in warehouses, without the seen times. */
const flatRows = (row: LedgerRow): Record<string, string[]> => {
  const { callId, document } = row;
  const unseen = { firstSeenAt: null, changedAt: null, sourceDeletedAt: null };
  const tables = Object.entries(flattenCall({ callId, document, ...unseen }, { documents: true }).rows);
  const textOf = (name: string) => (row: Row) => canonicalRow(tableOf(name as 'calls').columns, row);
  return Object.fromEntries(tables.map(([name, rows]) => [name, rows.map(textOf(name))]));
};

test('observations in any order and number end as the document, versions and rows that the rules demand', () =>
  forAll([observationsInOrders('c')], { numRuns: 300 }, ({ observations, arrivals }) => {
    const expected = expectedDocument(observations);
    const [first, ...others] = arrivals.map(foldAll);
    expect(first?.document?.toJSON()).toEqual(expected);
    const seen = (row?: LedgerRow) => [row?.versions, row?.firstSeenAt, row?.lastSeenAt, row?.seenBy];
    for (const other of others) {
      expect(other.document?.toJSON()).toEqual(expected);
      expect(seen(other)).toEqual(seen(first));
      expect(flatRows(other)).toEqual(flatRows(first as LedgerRow));
    }
  }));

test('observations in any order and number: rows of one revision are the same, whatever was seen since', async () => {
  const shown = (row: LedgerRow) => [row.document, row.firstSeenAt, row.changedAt, row.sourceDeletedAt];
  await forAll([observationsInOrders('c')], { numRuns: 200 }, ({ arrivals }) => {
    for (const observations of arrivals) {
      const revisions = new Map<number, unknown>();
      let row = unknown;
      for (const observation of observations.map(prepareObservation)) {
        row = fold(row, observation);
        if (revisions.has(row.revision)) expect(shown(row)).toEqual(revisions.get(row.revision));
        revisions.set(row.revision, shown(row));
      }
    }
  });
});

test('observations in any order and number end the same, whether or not the row was in the store between', () =>
  forAll([observationsInOrders('c', 1)], { numRuns: 200 }, ({ arrivals: [arrival = []] }) => {
    const whole = foldAll(arrival);
    const stepped = arrival.map(prepareObservation).reduce((row, observation) => {
      const head = { ...stored(row), document: row.revision === 0 ? row.document : null };
      if (needsDocument(head, observation)) return fold(stored(row), observation);
      const next = fold(head, observation);
      return { ...next, document: next.document ?? stored(row).document };
    }, unknown);
    const { document, versions, revision } = whole;
    expect(stepped).toEqual({ ...stepped, document, versions, revision });
    expect(flatRows(stored(whole))).toEqual(flatRows(whole));
  }));

test('observations in any order and number: a tombstone among them wins and stays', () =>
  forAll([observationsInOrders('c', 1), fc.nat()], { numRuns: 300 }, ({ arrivals: [arrival = []] }, position) => {
    const cut = position % (arrival.length + 1);
    const before = arrival.slice(0, cut).map(prepareObservation).reduce(fold, unknown);
    const erased = foldErasure(before);
    expect(erased).toMatchObject({
      tombstone: true,
      revision: before.revision + 1,
      versions: {},
      document: { held: {} },
    });
    expect(arrival.slice(cut).map(prepareObservation).reduce(fold, erased)).toBe(erased);
    expect(foldErasure(erased)).toBe(erased);
  }));

test('of one instant a poll wins over a webhook, and a webhook over an import', () => {
  const ways = (['poll', 'import', 'webhook'] as const).map((way) => observationOf('c', 7, { status: way }, way));
  expect([foldAll(ways), foldAll(ways.slice(1))].map((row) => row.document?.value('status'))).toEqual([
    'poll',
    'webhook',
  ]);
});

const at = 1_700_000_000_000_000;
const transcript_json = { callData: [{ content: 'hello' }] };
const filled = { transcript_json, tags: [{ unique_id: 't' }], metadata: { Agent: 'x' }, status: 'qualified' };
const full = observationOf('c', at, filled, 'webhook');
const polled = (record: object, carried: string[] = []) => observe(record, at + 60_000_000, new Set(carried));

/** The document, whichever comes first. */
const eitherWay = (seen: Observation) =>
  [
    [full, seen],
    [seen, full],
  ].map((one) => foldAll(one).document?.held);

test('a list with fewer fields than the webhook erases nothing, and replaces only what it carries', () => {
  const seen = polled({ unique_id: 'c', status: 'void', transcript_json: null, tags: [], metadata: {}, campaign: '' });
  expect(eitherWay(seen)).toEqual(Array(2).fill({ ...full.fields.held, status: 'void' }));
  const carrying = polled({ unique_id: 'c', transcript_json: null, tags: [], metadata: null }, ['tags', 'metadata']);
  expect(eitherWay(carrying)).toEqual(Array(2).fill({ ...full.fields.held, tags: [], metadata: null }));
});

const parse = (json: string): Observation => ({
  ...{ callId: 'c', source: 'webhook', observedAt: 1, fields: recordIn(Buffer.from(json)) },
});

test('what no store could hold: fields named like what every object has are fields', () => {
  const json = '{"unique_id":"c","constructor":"a","__proto__":{"x":1},"toString":2,"hasOwnProperty":null}';
  const row = foldAll([parse(json)]);
  expect(JSON.parse(JSON.stringify(row.document))).toEqual(JSON.parse(json));
  const later = (text: string) => prepareObservation({ ...parse(text), observedAt: 2 });
  const changed = fold(row, later('{"unique_id":"c","constructor":"b"}'));
  expect(Object.entries(changed.document?.held ?? {})).toContainEqual(['constructor', 'b']);
  expect(needsDocument({ ...row, document: null }, later('{"valueOf":1}'))).toBe(true);
});

test('what no store could hold: numbers beyond a double read the same from memory and from the store', () => {
  const json = '"duration":1e999,"extra":[{"n":-1.0E+999,"e":"1e999"}],"small":2e-400,"zero":-0e-400,"fine":1e308}';
  const row = foldAll([parse(`{"unique_id":"c",${json}`)]);
  const kept = { duration: '1e999', extra: [{ n: '-1.0E+999', e: '1e999' }], small: '2e-400', zero: -0, fine: 1e308 };
  expect(row.document?.held).toEqual({ unique_id: 'c', ...kept });
  expect(flatRows(stored(row))).toEqual(flatRows(row));
  expect(parse(`{"text":"${'\\/'.repeat(4_500_000)}",${json}`).fields.held).toMatchObject(kept);
});

test('names with NUL or half characters are cleaned in the same way, whatever else the record has', () => {
  const row = foldAll([parse('{"unique_id":"c","a\\u0000":1,"a\\ufffd":2,"\\ud800":3}')]);
  expect(row.document?.held).toEqual({ unique_id: 'c', 'a\ufffd': 2, '\ufffd': 3 });
});

test('what no store could hold: a record nested too deeply is refused before anything recurses over it', () => {
  const nest = (depth: number) => parse(`{"unique_id":"c","deep":${'['.repeat(depth)}${']'.repeat(depth)}}`);
  expect(identifyRecord(nest(199).fields)).toMatchObject({ callId: 'c' });
  expect(() => prepareObservation(nest(199))).not.toThrow();
  const mixed = { unique_id: 'c', n: [Number.POSITIVE_INFINITY, nest(300).fields.held] };
  for (const fields of [nest(200).fields, nest(100_000).fields, mixed])
    expect(identifyRecord(fields)).toEqual({ reason: 'the record nests deeper than 200 levels' });
});

/** Changes of a call's fields by revision, from the marks of fold, in any number of observations. */
const changesOf = (row: LedgerRow) => flattenChanges(row, 7);

test('a change says whether the field was added, changed or removed; null is as good as absent', () => {
  const row = foldAll([
    observationOf('c', 10, { status: 'a', lang: 'fr', agent: null }),
    observationOf('c', 20, { status: 'b', lang: null, agent: 'x', tags: [] }),
  ]);
  const kinds = { '*': 'added', status: 'changed', lang: 'removed', agent: 'added', tags: 'added' };
  expect(Object.fromEntries(changesOf(row).map(({ field, kind }) => [field, kind]))).toEqual(kinds);
  // Folded by an earlier version.
  const older = { ...row, fieldChanges: { status: [2, 20, 1] as const } };
  expect(changesOf(older).at(-1)).toMatchObject({ field: 'status', kind: null });
});

test('an earlier observation that comes late moves the first row, with its additions as a revision', () => {
  const row = foldAll([observationOf('c', 20, { status: 'b' }), observationOf('c', 10, { lang: 'fr' }, 'import')]);
  const own = { source: 'import', observed_at: 10 };
  expect(changesOf(row)).toMatchObject([own, own]);
  expect(changesOf(row).map(({ field, revision }) => `${field} ${revision}`)).toEqual(['* 1', 'lang 2']);
});

test('names that are not plain show as extra, once a change; none is longer than a key may be', () => {
  const names = ['+33 6 12 34 56 78', 'n'.repeat(65), '', '*', '__proto__'];
  const fields = JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:1`).join(',')}}`);
  const row = foldAll([observationOf('c', 10), { ...observationOf('c', 20), fields: new JsonRecord(fields) }]);
  expect(changesOf(row).map(({ field }) => field)).toEqual(['*', 'extra', '__proto__']);
});

test('privacy rules change no row, and an erasure leaves none', () => {
  const row = foldAll([observationOf('c', 10, { status: 'a' }), observationOf('c', 20, { status: 'b' })]);
  const ruled = foldRules(row, (observation) => ({ ...observation, fields: observation.fields.with({ status: 'x' }) }));
  expect(ruled.revision).toBe(3);
  expect(changesOf(ruled)).toEqual(changesOf(row));
  expect(changesOf(foldErasure(row))).toEqual([]);
});

test('every row is told apart by its key, and its revision is one that the call has had', () =>
  forAll([observationsInOrders('c')], { numRuns: 100 }, ({ arrivals }) => {
    for (const arrival of arrivals) {
      const row = foldAll(arrival);
      const rows = changesOf(row);
      const keys = rows.map((one) => JSON.stringify(tableOf('changes').key.map((name) => one[name])));
      expect(new Set(keys).size).toBe(rows.length);
      for (const { revision, observed_at } of rows.slice(1)) {
        expect(revision).toBeGreaterThan(1);
        expect(revision).toBeLessThanOrEqual(row.revision);
        expect(arrival.some(({ observedAt }) => observedAt === observed_at)).toBe(true);
      }
    }
  }));
