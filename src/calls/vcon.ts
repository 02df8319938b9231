/** A call as a vCon, the IETF's container for conversations (draft-ietf-vcon-vcon-core-04). Pure. */
import { hash } from 'node:crypto';
import type { Unit } from '../../schemas/config/analytics.ts';
import type { Row } from '../../schemas/tables.ts';
import { JsonRecord } from '../lib/json-record.ts';
import { flattenCall } from './flatten.ts';

/** Units of the fields that a vCon has in seconds. Fields of unknown unit are omitted. */
type VconUnits = { readonly utterance_start: Unit; readonly utterance_duration: Unit };

/**
 * Every utterance as a text of its party, and the whole record as analyses: `transcript` and `tags` as sent,
 * `call_record` with all other fields. A call without a time has no texts, because each of them needs one. The
 * attachment of tags is what readers search.
 */
export const toVcon = (input: Parameters<typeof flattenCall>[0], units: VconUnits) => {
  const { callId } = input;
  const { callTimestamp, rows } = flattenCall(input);
  const at = callTimestamp ?? 0;
  const utterances = callTimestamp === null ? [] : rows.utterances.filter(({ content }) => content !== null);
  const sides = [...new Set(['in', 'out', ...utterances.flatMap(({ side }) => (side === null ? [] : [String(side)]))])];
  const dialog = utterances.map((utterance) => {
    const offset = toSeconds(utterance.start_offset, units.utterance_start) ?? 0;
    return {
      type: 'text',
      start: toIso(at + Math.round(offset * 1e6)) ?? toIso(at) ?? '',
      duration: toSeconds(utterance.duration, units.utterance_duration),
      parties: utterance.side === null ? undefined : [sides.indexOf(String(utterance.side))],
      mediatype: 'text/plain',
      body: String(utterance.content),
      encoding: 'none',
    };
  });
  const { transcript_json, tags, ...rest } = JsonRecord.of(input.document)?.toJSON() ?? {};
  const bodies = { transcript: transcript_json ?? undefined, tags: tags ?? undefined };
  const nulls = { ...(transcript_json === null && { transcript_json }), ...(tags === null && { tags }) };
  const json = { mediatype: 'application/json', encoding: 'json' };
  const created_at = toIso(input.firstSeenAt ?? at) ?? '';
  const named = rows.tags.filter(({ display_name, tag_id }) => (display_name ?? tag_id) !== null);
  return {
    vcon: '0.4.0',
    uuid: uuidOf(callId),
    created_at,
    updated_at: input.changedAt === null ? undefined : toIso(input.changedAt),
    parties: sides.map((side) => partyOf(side, rows.contacts)),
    dialog,
    analysis: Object.entries({ ...bodies, call_record: { ...rest, ...nulls } })
      .filter(([, body]) => body !== undefined)
      .map(([type, body]) => ({
        ...{ type, dialog: [...dialog.keys()], vendor: 'call-data service' },
        ...{ product: type === 'transcript' ? textOf(rows.calls[0]?.asr_model) : undefined, ...json, body },
      })),
    attachments:
      named.length === 0
        ? []
        : [{ purpose: 'tags', start: created_at, party: 0, dialog: 0, ...json, body: named.map(tagText) }],
  };
};

const tagText = ({ display_name, tag_id, value_text, value }: Row): string =>
  `${display_name ?? tag_id}:${value_text ?? value ?? ''}`;

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
