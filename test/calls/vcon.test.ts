/**
 * Calls as vCons, checked by their schema. With CALLSYNC_VCON_SCHEMA the test also uses the JSON Schema of the IETF's
 * working group (vcon_json_schema.json of draft-ietf-vcon-vcon-core). That file is not in this repository.
 */
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { toVcon } from '../../src/calls/vcon.ts';
import { vconSchema } from './vcon-schema.ts';

type VconUnits = Parameters<typeof toVcon>[1];

const units: VconUnits = { utterance_start: 'milliseconds', utterance_duration: 'seconds' };
const seen = { callId: 'a', firstSeenAt: 1_767_600_000_000_000, changedAt: null, sourceDeletedAt: null };
const convert = (document: Record<string, unknown>, over: Partial<VconUnits> = {}) => {
  const whole = { unique_id: 'a', timestamp: '2026-01-05T10:00:00Z', ...document };
  return toVcon({ ...seen, document: whole }, { ...units, ...over });
};

const said = [
  { from: 'out', content: 'Bonjour', datetime: 1500, duration: '2' },
  { from: 'in', content: 'Allô ?', datetime: -1, duration: -2 },
  { content: 'de personne', datetime: 1e300, duration: 1e300 },
  { from: 'ivr', content: '', datetime: 9000 },
  { from: 'ivr', content: null },
  { from: 7 },
];
const documents: Record<string, unknown>[] = [
  { transcript_json: { callData: said, meta: { asr_model: 'fr-8k' } }, tags: [{ value: true }] },
  { in: { data: '+33 1 99 00 12 34', type: 'PHONE', label: 'Léa' }, out: { data: 'a@example.com', type: 'EMAIL' } },
  { in: { data: `ph_k1_${'a'.repeat(52)}`, type: 'PHONE' }, out: { data: '33199001234', type: 'SIP' } },
  { transcript_json: 'none', tags: 'none', in: [], out: 5, status: 'void' },
  { transcript_json: null, tags: null },
];

test('every utterance is a text of its party, and nothing is said that is not known', () => {
  const vcon = convert(documents[0] ?? {});
  expect(vcon.parties).toEqual([{}, {}, { name: 'ivr' }]);
  const text = { type: 'text', mediatype: 'text/plain', encoding: 'none' };
  expect(vcon.dialog).toEqual([
    { ...text, start: '2026-01-05T10:00:01.500Z', duration: 2, parties: [1], body: 'Bonjour' },
    { ...text, start: '2026-01-05T10:00:00.000Z', parties: [0], body: 'Allô ?' },
    { ...text, start: '2026-01-05T10:00:00.000Z', duration: 1e300, body: 'de personne' },
    { ...text, start: '2026-01-05T10:00:09.000Z', parties: [2], body: '' },
  ]);
  expect(vcon.analysis[0]).toMatchObject({ type: 'transcript', product: 'fr-8k', dialog: [0, 1, 2, 3] });
  const unknown = convert(documents[0] ?? {}, { utterance_start: 'unknown', utterance_duration: 'unknown' });
  for (const { start, duration } of unknown.dialog ?? [])
    expect([start, duration]).toEqual(['2026-01-05T10:00:00.000Z', undefined]);
});

test('a party has its number or address, and a token of privacy rules is neither', () => {
  const expected = [{ tel: '+33199001234', name: 'Léa' }, { mailto: 'a@example.com' }];
  expect(convert(documents[1] ?? {}).parties).toEqual(expected);
  expect(convert(documents[2] ?? {}).parties).toEqual([{}, {}]);
});

test('a call has one identifier in all exports; a call without a time has no dialog, as that needs a start', () => {
  expect(convert({}).uuid).toBe(convert({ status: 'void' }).uuid);
  const undated = convert({ ...documents[0], timestamp: 'yesterday' });
  expect(undated).toMatchObject({ dialog: [], created_at: '2026-01-05T08:00:00.000Z' });
  expect(undated.analysis.map(({ type }) => type)).toEqual(['transcript', 'tags', 'call_record']);
});

test('readers find the tags of a call as name:value, every analysis names its dialog, and none is null', () => {
  const named = { Sale: true, Topic: 'a:b', Score: 1.5, Empty: null };
  const tags = Object.entries(named).map(([display_name, value]) => ({ display_name, value }));
  const vcon = convert({ ...documents[0], tags: [...tags, { unique_id: 'only-an-id', value: false }, {}] });
  const body = ['Sale:true', 'Topic:a:b', 'Score:1.5', 'Empty:', 'only-an-id:false'];
  expect(vcon.attachments).toMatchObject([{ purpose: 'tags', start: vcon.created_at, encoding: 'json', body }]);
  expect(vcon.analysis.map(({ dialog }) => dialog)).toEqual(Array(3).fill([0, 1, 2, 3]));
  const hollow = convert(documents[4] ?? {});
  const sent = { unique_id: 'a', timestamp: '2026-01-05T10:00:00Z', ...documents[4] };
  expect(hollow.attachments).toEqual([]);
  expect(hollow.analysis.map((one) => [one.type, one.body])).toEqual([['call_record', sent]]);
});

test('whatever the record holds, the vCon is valid', () => {
  for (const document of documents) expect(vconSchema.safeParse(convert(document)).error).toBeUndefined();
  expect(vconSchema.safeParse({ ...convert({}), subject: 'x' }).success).toBe(false);
});

const official = process.env.CALLSYNC_VCON_SCHEMA;
test.skipIf(official === undefined)("the working group's schema takes it, and refuses a broken one", () => {
  const validate = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(
    JSON.parse(readFileSync(official as string, 'utf8')),
  );
  for (const document of documents) expect(validate(convert(document)), JSON.stringify(validate.errors)).toBe(true);
  expect(validate({ ...convert({}), uuid: undefined })).toBe(false);
  expect(validate({ ...convert({}), dialog: [{ type: 'spoken', start: 'now' }] })).toBe(false);
});
