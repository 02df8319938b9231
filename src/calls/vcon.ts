/** A call as a vCon, the IETF's container for conversations (draft-ietf-vcon-vcon-core-04). Pure. */
import { hash } from 'node:crypto';
import type { Unit } from '../../schemas/config/analytics.ts';
import type { Row } from '../../schemas/tables.ts';
import { flattenCall } from './flatten.ts';

/** Units of the fields that a vCon has in seconds. Fields of unknown unit are omitted. */
type VconUnits = { readonly utterance_start: Unit; readonly utterance_duration: Unit };

/**
 * Every utterance as a text of its party, and the whole record as analyses: `transcript` and `tags` as sent,
 * `call_record` with all other fields. Undefined for a call without a time, because every utterance needs one.
 */
export const toVcon = (input: Parameters<typeof flattenCall>[0], units: VconUnits) => {
  const { callId } = input;
  const { callTimestamp, rows } = flattenCall(input);
  if (callTimestamp === null) return undefined;
  const utterances = rows.utterances.filter(({ content }) => content !== null);
  const sides = [...new Set(['in', 'out', ...utterances.flatMap(({ side }) => (side === null ? [] : [String(side)]))])];
  const dialog = utterances.map((utterance) => {
    const offset = toSeconds(utterance.start_offset, units.utterance_start) ?? 0;
    return {
      type: 'text',
      start: toIso(callTimestamp + Math.round(offset * 1e6)) ?? toIso(callTimestamp) ?? '',
      duration: toSeconds(utterance.duration, units.utterance_duration),
      parties: utterance.side === null ? undefined : sides.indexOf(String(utterance.side)),
      mediatype: 'text/plain',
      body: String(utterance.content),
      encoding: 'none',
    };
  });
  const { transcript_json: transcript, tags, ...record } = input.document ?? {};
  const [call] = rows.calls;
  const product = textOf(call?.asr_model);
  return {
    vcon: '0.4.0',
    uuid: uuidOf(callId),
    created_at: toIso(input.firstSeenAt ?? callTimestamp) ?? '',
    updated_at: input.changedAt === null ? undefined : toIso(input.changedAt),
    parties: sides.map((side) => partyOf(side, rows.contacts)),
    dialog,
    analysis: [
      ...(transcript === undefined
        ? []
        : [{ ...analysis('transcript', transcript), dialog: [...dialog.keys()], product }]),
      ...(tags === undefined ? [] : [analysis('tags', tags)]),
      analysis('call_record', record),
    ],
  };
};

const analysis = (type: 'transcript' | 'tags' | 'call_record', body: unknown) => ({
  type,
  vendor: 'call-data service',
  mediatype: 'application/json',
  body,
  encoding: 'json',
});

const partyOf = (side: string, contacts: readonly Row[]) => {
  if (side !== 'in' && side !== 'out') return { name: side };
  const { label = null, data = null, type = null, phone = null } = contacts.find((one) => one.side === side) ?? {};
  return {
    // Privacy rules leave a token in place of a number.
    tel: /^\+?\d+$/.test(String(phone)) ? String(phone) : undefined,
    mailto: type === 'EMAIL' ? textOf(data) : undefined,
    name: textOf(label),
  };
};

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const toSeconds = (value: unknown, unit: Unit): number | undefined => {
  if (typeof value !== 'number' || value < 0 || unit === 'unknown') return undefined;
  return unit === 'seconds' ? value : value / 1000;
};

/** Undefined beyond the years that the format has. */
const toIso = (micros: number): string | undefined => {
  const at = new Date(micros / 1000);
  return at.getUTCFullYear() <= 9999 ? at.toISOString() : undefined;
};

/** Version 8 of RFC 9562 from a hash of the id: a call has the same one in every export. */
const uuidOf = (callId: string): string => {
  const bytes = hash('sha256', `callsync call ${callId}`, 'buffer').subarray(0, 16);
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};
