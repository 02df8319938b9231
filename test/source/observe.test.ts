import { expect, test } from 'vitest';
import { JsonRecord } from '../../src/lib/json-record.ts';
import { observeRecord } from '../../src/source/list/observe.ts';

const observe = (record: unknown, carries: string[] = [], leftOut: string[] = []) =>
  observeRecord(record, { observedAt: 5, carries: new Set(carries), leftOut });
const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

test('takes a unique_id as it came', () => {
  expect(observe({ unique_id: ' 😀 ' })).toMatchObject({ observation: { callId: ' 😀 ' } });
});

test('keeps what it carries and drops what came empty without being known to be carried', () => {
  const content = { unique_id: 'a', duration: '5', ivr_end: 0, flag: false };
  const record = { ...content, tags: [], visit: null, metadata: {}, campaign: '' };
  const observation = { callId: 'a', source: 'poll', observedAt: 5, fields: new JsonRecord(content) };
  const uncarried = ['metadata', 'campaign'];
  expect(observe(record)).toEqual({ kind: 'observation', observation, uncarried: ['tags', 'visit', ...uncarried] });
  const carried = { fields: { held: { unique_id: 'a', tags: [], visit: null } } };
  expect(observe(record, ['tags', 'visit'])).toMatchObject({ observation: carried, uncarried });
});

test.each<[string, unknown]>([
  ['transcript_json', { callData: [], meta: {} }],
  ['in', { label: null, data: '', type: null }],
  ['tags', [{}, { value: null, more: [''] }]],
])('an outline without content in %s is none, unless the list carries the field', (name, value) => {
  const record = { unique_id: 'a', [name]: value };
  expect(observe(record)).toMatchObject({ observation: { fields: { held: { unique_id: 'a' } } }, uncarried: [name] });
  expect(observe(record)).not.toHaveProperty(`observation.fields.held.${name}`);
  expect(observe(record, [name])).toMatchObject({ observation: { fields: { held: record } }, uncarried: [] });
});

test('the same for fields that are kept as bytes', () => {
  const outline = { callData: Array.from({ length: 40 }, () => ({ content: '', words: [] })), meta: {} };
  const late = { callData: [...outline.callData, { content: 'bonjour', words: [] }], meta: {} };
  const see = (value: unknown, carries: string[] = []) => {
    const record = new JsonRecord({ unique_id: 'a', transcript_json: Buffer.from(JSON.stringify(value)) });
    const seen = observeRecord(record, { observedAt: 5, carries: new Set(carries) });
    return { ...seen, bytes: 'observation' in seen && seen.observation.fields.json('transcript_json') };
  };
  expect(see(outline)).toMatchObject({ uncarried: ['transcript_json'] });
  expect(see(outline)).not.toHaveProperty('observation.fields.held.transcript_json');
  const kept = { bytes: expect.any(Buffer) };
  expect(see(outline, ['transcript_json'])).toMatchObject(kept);
  for (const value of [late, { callData: [0] }, { meta: { lang: 'fr' } }, { ok: false }])
    expect(see(value)).toMatchObject(kept);
});

test('drops fields that were asked to be left out, whatever stands in their place', () => {
  const left = observe({ unique_id: 'a', transcript_json: null }, ['transcript_json'], ['transcript_json']);
  expect(left).toMatchObject({ observation: { fields: { held: { unique_id: 'a' } } }, uncarried: [] });
});

test('refuses an id that broken UTF-8 damaged, and keeps one that was sent with a replacement character', () => {
  const read = (bytes: Buffer) =>
    observeRecord(JSON.parse(bytes.toString()), { observedAt: 5, carries: new Set(), bytes: () => bytes });
  const broken = Buffer.concat([Buffer.from('{"unique_id":"a'), Buffer.from([0xff]), Buffer.from('"}')]);
  expect(read(broken)).toMatchObject({ kind: 'rejected', reason: expect.stringContaining('not valid UTF-8') });
  expect(read(Buffer.from('{"unique_id":"a\ufffd"}'))).toMatchObject({ observation: { callId: 'a\ufffd' } });
});

test.each([
  [undefined, 'not JSON'],
  [null, 'not a JSON object'],
  ['text', 'not a JSON object'],
  [[], 'not a JSON object'],
  [{}, 'unique_id is absent'],
  [{ unique_id: null }, 'unique_id is null, not text'],
  [{ unique_id: 5 }, 'unique_id is of type number, not text'],
  [{ unique_id: ' ' }, 'unique_id is empty'],
  [{ unique_id: 'a\u0000' }, 'unique_id has characters that cannot be stored'],
  [{ unique_id: 'a\ud800' }, 'unique_id has characters that cannot be stored'],
  [{ unique_id: 'x'.repeat(513) }, 'unique_id is longer than 512 characters'],
  [{ unique_id: 'a', deep: nested(300) }, 'the record nests deeper than 200 levels'],
])('rejects %j', (record, reason) => expect(observe(record)).toEqual({ kind: 'rejected', reason }));
