import { expect, test } from 'vitest';
import type { CallDocument } from '../../schemas/call.ts';
import type { CallTableName } from '../../schemas/tables.ts';
import { flattenCall } from '../../src/calls/flatten.ts';

const seen = { firstSeenAt: 1, changedAt: 2, sourceDeletedAt: 3 };

const flatten = (
  document: CallDocument,
  { rules, ...options }: NonNullable<Parameters<typeof flattenCall>[1]> & { rules?: string } = {},
) => flattenCall({ callId: 'c', document: { unique_id: 'c', ...document }, ...seen, rules: rules ?? null }, options);

const rowsOf = (document: CallDocument, name: CallTableName, more = {}): readonly Record<string, unknown>[] =>
  flatten(document, more).rows[name];
const callOf = (document: CallDocument, more = {}): Record<string, unknown> => rowsOf(document, 'calls', more)[0] ?? {};
const issuesOf = (document: CallDocument): { field: string; reason: string }[] =>
  JSON.parse((callOf(document).issues as string) ?? '[]');

const at = Date.parse('2023-12-04T15:18:29Z') * 1000;
const whole: CallDocument = {
  timestamp: '2023-12-04T15:18:29Z',
  qualified: '2023-12-04T15:20:00Z',
  status: 'qualified',
  campaign: 'spring',
  duration: '123',
  ivr_end: 2.5,
  audio_state: 'AVAILABLE',
  transcript_json: {
    callData: [
      {
        from: 'out',
        content: 'hello there',
        datetime: 0,
        duration: 1.5,
        score: 0.75,
        words: [
          { value: 'hello', start: 0, length: 0.5, score: 0.9 },
          { value: 'there', start: 0.6, length: 0.4 },
        ],
      },
      { from: 'in', content: '', datetime: 2, duration: 0, words: [] },
    ],
    callUniqueId: '',
    meta: { lang: 'fr', asr_model: 'm', obfuscated: 'true', ivr_end: 2.5 },
  },
  metadata: {
    ...{ ClientID: 'id', Agent: 'a', Direction: 'IN', Dept: 'd', ANI: '33123456789' },
    ClientCaptureDate: '2023-12-04 10:03:10',
    AudioFileLocation: '/a.wav',
    UDF_num_01: '5',
    UDF_num_02: 'n/a',
    UDF_num_03: '',
    UDF_text_02: '81',
    UDF_num_1: '1',
    other: 'o',
  },
  tags: [
    { unique_id: 't1', display_name: 'One', confidence: 0.5, type: 'bool', value: true },
    { unique_id: 't2', display_name: 'Two', confidence: '1', type: 'number', value: 7 },
    { unique_id: 't3', display_name: 'Three', type: 'text', value: 'x' },
    { unique_id: 't4', value: { b: 1, a: 2 } },
    { unique_id: 't5', value: null },
  ],
  visit: { b: 1, a: 2 },
  tracking_info: { gclid: 'g' },
  qualification: { score: 1 },
  out: null,
  in: { label: 'L', data: '+33 1 23', type: 'PHONE' },
  novel: [1],
};

test('a whole record: every column of every table, in a file for review', async () => {
  const tables = Object.entries(flatten(whole).rows);
  const lines = tables.flatMap(([name, list]) => [`# ${name}`, ...list.map((row) => JSON.stringify(row))]);
  await expect(`${lines.join('\n').replaceAll(',"', ',\n  "')}\n`).toMatchFileSnapshot('./__snapshots__/rows.txt');
  const expected = { unique_id: 'c', ...whole };
  expect(JSON.parse(rowsOf(whole, 'documents', { documents: true })[0]?.document as string)).toEqual(expected);
});

test('a whole record: replaced values are listed where rules acted; a field of that name is data elsewhere', () => {
  const list = [[1, null, null, 'phone', 1], [0, 0, 1, 'contract', null], 'x', [0, 0, 1, 'Jean Dupont', 1]];
  const document = { transcript_json: { callsync_redactions: list } };
  const whole = { redaction_index: 0, utterance_index: 1, first_word: null, last_word: null };
  const words = { redaction_index: 1, utterance_index: 0, first_word: 0, last_word: 1 };
  expect(rowsOf(document, 'redactions', { rules: 'some rules' })).toMatchObject([
    { call_id: 'c', ...whole, detector: 'phone', detector_version: 1 },
    { call_id: 'c', ...words, detector: 'contract', detector_version: null },
  ]);
  expect(rowsOf(document, 'redactions')).toEqual([]);
});

test('nothing at all is one row of nulls and no children', () => {
  const { rows, callTimestamp } = flatten({});
  expect(callTimestamp).toBeNull();
  expect(Object.values(rows.calls[0] ?? {}).filter((value) => value !== null)).toEqual(['c', 0, 0, 0, 1, 2, 3]);
  expect(Object.entries(rows).filter(([name, list]) => name !== 'calls' && list.length > 0)).toEqual([]);
});

const said = (utterance: unknown): CallDocument => ({ transcript_json: { callData: [utterance] } });

test.each<[CallDocument, CallTableName, string, string]>([
  [{ timestamp: 'soon' }, 'calls', 'call_timestamp', 'timestamp'],
  [{ qualified: {} }, 'calls', 'processed_at', 'qualified'],
  [{ status: 1 }, 'calls', 'status', 'status'],
  [{ duration: 'long' }, 'calls', 'duration', 'duration'],
  [{ duration: 'Infinity' }, 'calls', 'duration', 'duration'],
  [{ ivr_end: true }, 'calls', 'ivr_end', 'ivr_end'],
  [{ transcript_json: { meta: { lang: 1 } } }, 'calls', 'lang', 'transcript_json.meta.lang'],
  [{ transcript_json: { meta: { obfuscated: 'maybe' } } }, 'calls', 'obfuscated', 'transcript_json.meta.obfuscated'],
  [{ transcript_json: 'text' }, 'calls', 'lang', 'transcript_json'],
  [{ transcript_json: { meta: [] } }, 'calls', 'lang', 'transcript_json.meta'],
  [{ transcript_json: { callData: {} } }, 'calls', 'lang', 'transcript_json.callData'],
  [{ in: 'x' }, 'calls', 'in_data', 'in'],
  [{ in: { data: 33 } }, 'calls', 'in_data', 'in.data'],
  [{ tags: 'x' }, 'calls', 'extra', 'tags'],
  [{ metadata: [1] }, 'calls', 'agent', 'metadata'],
  [{ tags: [{ confidence: 'high' }] }, 'tags', 'confidence', 'tags[0].confidence'],
  [{ tags: ['bare'] }, 'tags', 'tag_id', 'tags[0]'],
  [said(null), 'utterances', 'content', 'transcript_json.callData[0]'],
  [said({ datetime: 'x' }), 'utterances', 'start_offset', 'transcript_json.callData[0].datetime'],
  [said({ words: 5 }), 'utterances', 'score', 'transcript_json.callData[0].words'],
])('fields of the wrong type become null with an issue: %j in %s', (document, table, column, field) => {
  expect(rowsOf(document, table)[0]?.[column]).toBeNull();
  expect(issuesOf(document)).toEqual([{ field, reason: expect.any(String) }]);
});

test('fields of the wrong type become null with an issue: words that are none keep their place', () => {
  const words = [null, { value: 5, start: 'x', length: '0.5', score: -0 }, { value: 'a\0b' }];
  const document = said({ words });
  const times = { start: [null, null, null], length: [null, 0.5, null], score: [null, 0, null] };
  const read = { word_count: 3, words: { value: [null, null, 'a\ufffdb'], ...times } };
  expect(rowsOf(document, 'utterances')).toMatchObject([read]);
  const fields = ['[0]', '[1].start', '[1].value'].map((place) => `transcript_json.callData[0].words${place}`);
  expect(issuesOf(document).map(({ field }) => field)).toEqual(fields);
});

test('a field of the wrong type is null with an issue, which names the type and no value; 50 are enough', () => {
  const secret = 'personal-data';
  const many = { tags: Array.from({ length: 80 }, () => secret), status: [secret], metadata: { [secret]: '\0' } };
  const issues = issuesOf(many);
  expect(issues).toHaveLength(50);
  expect(JSON.stringify(issues)).not.toContain(secret);
});

test('what cannot be stored as it is: NUL and half characters are replaced and reported', () => {
  expect(callOf({ status: 'a\0b', campaign: '\ud800' })).toMatchObject({ status: 'a\ufffdb', campaign: '\ufffd' });
  expect(issuesOf({ status: 'a\0b', campaign: '\ud800' })).toHaveLength(2);
  expect(callOf({ status: '😀' })).toMatchObject({ status: '😀', issues: null });
  expect(callOf({ visit: { 'k\0': ['\udc00'] } }).visit).toBe('{"k\ufffd":["\ufffd"]}');
});

test('what cannot be stored as it is: metadata: values that are not text, keys that are dirty or too long', () => {
  const long = 'k'.repeat(600);
  const cjk = '漢'.repeat(512);
  const odd = { n: 5, o: { b: 1, a: 2 }, z: null, 'd\0': '\0' };
  const rows = rowsOf({ metadata: { ...odd, [long]: '1', [cjk]: '2', ['é'.repeat(512)]: '3' } }, 'metadata');
  const values = Object.fromEntries(rows.map((row) => [row.key, row.value]));
  expect(values).toMatchObject({ n: '5', o: '{"a":2,"b":1}', z: null, 'd\ufffd': '\ufffd', ['é'.repeat(512)]: '3' });
  const cut = Object.keys(values).filter((key) => /^(k+|漢+)~[0-9a-f]{16}$/.test(key));
  expect(cut.map((key) => values[key]).sort()).toEqual(['1', '2']);
  for (const key of cut) expect(key.length).toBeGreaterThan(300);
  const reason = 'a key longer than 512 characters was cut';
  expect(issuesOf({ metadata: { [long]: '1' } })).toEqual([{ field: 'metadata', reason }]);
  for (const key of Object.keys(values)) expect(Buffer.byteLength(key)).toBeLessThanOrEqual(1024);
});

test('what cannot be stored as it is: metadata keys that begin alike stay apart, whatever their length', () => {
  const keys = ['k'.repeat(512), ...['a', 'b', 'b'.repeat(2_000)].map((end) => 'k'.repeat(512) + end)];
  const metadata = Object.fromEntries(keys.map((key, index) => [key, String(index)]));
  const rows = rowsOf({ metadata }, 'metadata');
  expect(rows.map((row) => row.value).sort()).toEqual(['0', '1', '2', '3']);
  expect(new Set(rows.map((row) => row.key)).size).toBe(4);
  expect(rows.find((row) => row.value === '0')?.key).toBe(keys[0]);
  const [a, b] = keys.slice(1) as [string, string];
  const turned = rowsOf({ metadata: { [b]: '2', [a]: '1' } }, 'metadata');
  expect(rowsOf({ metadata: { [a]: '1', [b]: '2' } }, 'metadata')).toEqual(turned);
});

test('what cannot be stored as it is: whole numbers beyond 2^53 are reported where they may stand', () => {
  const exact = '"d":9007199254740991,"e":0.1';
  const value = JSON.parse(`{"a":9007199254740993,"b":{"c":[12345678901234567890]},${exact},"f":-9007199254740992}`);
  const fields = (document: CallDocument) => issuesOf(document).map(({ field }) => field);
  expect(fields(value)).toEqual(['extra.a', 'extra.b', 'extra.f']);
  expect(fields({ visit: value, tracking_info: { n: 5 }, qualification: value })).toEqual(['qualification', 'visit']);
  expect(fields({ metadata: { 'a person': value.a } })).toEqual(['metadata value']);
  expect(fields({ tags: [{ value: value.a, type: 'number' }] })).toEqual(['tags[0].value']);
  for (const large of [value.a, '9007199254740993', -1e300])
    expect(fields({ duration: large, transcript_json: { callData: [{ words: [{ start: large }] }] } })).toEqual([
      'duration',
      'transcript_json.callData[0].words[0].start',
    ]);
  expect(issuesOf({ novel: 9_007_199_254_740_991, other: '9007199254740993' })).toEqual([]);
});

test('metadata keys that become one when they are stored: the same one stays in any order', () => {
  const one = { 'x\0': '1', 'x\ufffd': '2' };
  const other = { 'x\ufffd': '2', 'x\0': '1' };
  expect(rowsOf({ metadata: one }, 'metadata')).toEqual(rowsOf({ metadata: other }, 'metadata'));
  expect(rowsOf({ metadata: one }, 'metadata')).toHaveLength(1);
  expect(callOf({ novel: one }).extra).toBe(callOf({ novel: other }).extra);
});

test('what cannot be stored as it is: JSON that is too deep is null with an issue', () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 300; depth += 1) deep = [deep];
  expect(callOf({ visit: { deep } }).visit).toBeNull();
  expect(issuesOf({ visit: { deep } })).toEqual([{ field: 'visit', reason: 'nested too deeply' }]);
});

test('the end of processing stands in the field that the list names', () => {
  const more = { processedField: 'ended' };
  const document = { ended: '2023-12-04T15:20:00Z', qualified: '2023-12-05T00:00:00Z' };
  const expected = { processed_at: at + 91_000_000, extra: '{"qualified":"2023-12-05T00:00:00Z"}' };
  expect(callOf(document, more)).toMatchObject(expected);
});

test('fields named as those that objects inherit are fields like any other', () => {
  const extra = '{"__proto__":{"tags":[{"type":"PHONE"}],"timestamp":"2020-01-01T00:00:00Z"},"constructor":1}';
  expect(callOf(JSON.parse(extra))).toMatchObject({ call_timestamp: null, tag_count: 0, extra });
});
