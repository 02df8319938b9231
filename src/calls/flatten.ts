/** Flatten: folded call → rows of every warehouse table, in the column order of `schemas/tables.ts`. Pure. */
import { hash } from 'node:crypto';
import { type CallDocument, knownCallFields } from '../../schemas/call.ts';
import { type CallTableName, tableOf, type WordArrays } from '../../schemas/tables.ts';
import { FieldReader, isObject } from './field-reader.ts';
import { readRedactions, redactionsField } from './redactions.ts';
import { cleanText, normalizePhone, parseDecimal } from './values.ts';

/** Raised whenever the rows of an unchanged document would change; every call then becomes pending. */
export const flattenVersion = 2;

/** What rows are made of: a row of the ledger, or as much of one. Times are microseconds since the epoch. */
export interface FlattenInput {
  readonly callId: string;
  /** Null reads as one without fields. */
  readonly document: CallDocument | null;
  readonly firstSeenAt: number | null;
  /** Of the latest observation that changed the call: its `last_seen_at`. */
  readonly changedAt: number | null;
  readonly missingSince: number | null;
  /** Privacy rules that were applied to the document; without any its list of redactions is a field like any unknown one. */
  readonly rules?: string | null;
}

export interface FlattenOptions {
  /** The field that holds the end of processing; `qualified` by default. */
  readonly processedField?: string | undefined;
  /** Also make the row of table documents. */
  readonly documents?: boolean;
}

export interface FlatCall {
  /** Microseconds since the epoch; null when absent or unreadable. */
  readonly callTimestamp: number | null;
  readonly rows: Readonly<Record<CallTableName, readonly (readonly unknown[])[]>>;
}

const promotedMetadata = ['ClientID', 'Agent', 'Direction', 'Dept', 'ANI', 'ClientCaptureDate', 'AudioFileLocation'];
const known = new Set(knownCallFields.filter((name) => name !== 'qualified'));
const issuesIndex = tableOf('calls').columns.findIndex((column) => column.name === 'issues');

/** When the call was, as its rows have it: microseconds since the epoch, null where it cannot be read. */
export const callTimestampOf = (document: CallDocument): number | null =>
  new FieldReader().timestamp(document.timestamp, 'timestamp');

/** A field of the wrong type becomes null with an entry in `issues`; nothing makes it throw. */
export const flattenCall = (
  input: FlattenInput,
  { processedField = 'qualified', documents = false }: FlattenOptions = {},
): FlatCall => {
  const { callId } = input;
  const document = input.document ?? {};
  const read = new FieldReader();
  const at = read.timestamp(document.timestamp, 'timestamp');
  const processedAt = read.timestamp(document[processedField], processedField);
  const transcript = read.object(document.transcript_json, 'transcript_json');
  const meta = read.object(transcript?.meta, 'transcript_json.meta');
  const details = flattenDetails(callId, at, document, transcript, read);
  const { incoming, outgoing } = details;
  const extra = Object.fromEntries(
    Object.keys(document)
      .filter((name) => !known.has(name) && name !== processedField)
      .map((name) => [name, document[name]]),
  );
  for (const name of Object.keys(extra)) read.noteRounded(extra[name], `extra.${name}`);

  const calls = [
    callId,
    at,
    processedAt,
    read.text(document.status, 'status'),
    read.text(document.campaign, 'campaign'),
    read.numberText(document.duration, 'duration'),
    read.numberText(document.ivr_end, 'ivr_end'),
    read.text(document.audio_state, 'audio_state'),
    read.text(meta?.lang, 'transcript_json.meta.lang'),
    read.text(meta?.asr_model, 'transcript_json.meta.asr_model'),
    read.boolText(meta?.obfuscated, 'transcript_json.meta.obfuscated'),
    read.text(transcript?.callUniqueId, 'transcript_json.callUniqueId'),
    incoming?.[3] ?? null,
    incoming?.[4] ?? null,
    incoming?.[5] ?? null,
    outgoing?.[3] ?? null,
    outgoing?.[4] ?? null,
    outgoing?.[5] ?? null,
    ...promotedMetadata.map((key) => details.metadataValues.get(key) ?? null),
    read.freeJson(document.visit, 'visit'),
    read.freeJson(document.tracking_info, 'tracking_info'),
    read.freeJson(document.qualification, 'qualification'),
    Object.keys(extra).length === 0 ? null : read.json(extra, 'extra'),
    details.utterances.length,
    details.words,
    details.tags.length,
    null,
    input.firstSeenAt,
    input.changedAt,
    input.missingSince,
  ];
  const whole = documents ? [[callId, at, read.json(document, 'document') ?? '{}']] : [];
  calls[issuesIndex] = read.issues.length === 0 ? null : JSON.stringify(read.issues);
  return {
    callTimestamp: at,
    rows: {
      calls: [calls],
      utterances: details.utterances,
      tags: details.tags,
      metadata: details.metadata,
      udfs: details.udfs,
      contacts: [incoming, outgoing].filter((row) => row !== null),
      redactions: (input.rules ?? null) === null ? [] : flattenRedactions(callId, at, transcript),
      documents: whole,
    },
  };
};

/** Rows of the tables below `calls`: utterances, tags, metadata, udfs and contacts (interface §2.2 to §2.5). */
interface CallDetails {
  readonly utterances: unknown[][];
  /** Words of all utterances. */
  readonly words: number;
  readonly tags: unknown[][];
  readonly metadata: unknown[][];
  readonly udfs: unknown[][];
  /** Metadata by key, as its rows have it. */
  readonly metadataValues: ReadonlyMap<string, string | null>;
  /** One row each, or null when the call has no such contact. */
  readonly incoming: ContactRow | null;
  readonly outgoing: ContactRow | null;
}

type ContactRow = readonly (string | number | null)[];

/** @param at the call's time in microseconds, which every row carries. What cannot be typed is noted by `read`. */
const flattenDetails = (
  callId: string,
  at: number | null,
  document: CallDocument,
  transcript: Readonly<Record<string, unknown>> | undefined,
  read: FieldReader,
): CallDetails => {
  const { rows: utterances, words } = flattenUtterances(callId, at, transcript?.callData, read);
  const tags = flattenTags(callId, at, document.tags, read);
  const { rows: metadata, udfs, values: metadataValues } = flattenMetadata(callId, at, document.metadata, read);
  const incoming = flattenContact(callId, at, 'in', document.in, read);
  const outgoing = flattenContact(callId, at, 'out', document.out, read);
  return { utterances, words, tags, metadata, udfs, metadataValues, incoming, outgoing };
};

const flattenRedactions = (
  callId: string,
  at: number | null,
  transcript: Readonly<Record<string, unknown>> | undefined,
): unknown[][] =>
  readRedactions(transcript?.[redactionsField]).map((redaction, index) => [callId, at, index, ...redaction]);

type Words = { -readonly [K in keyof WordArrays]: unknown[] };

/** Rows of `utterances` with their words as arrays (interface §2.2), and the number of words in all. */
const flattenUtterances = (
  callId: string,
  at: number | null,
  callData: unknown,
  read: FieldReader,
): { readonly rows: unknown[][]; readonly words: number } => {
  const rows: unknown[][] = [];
  let total = 0;
  const list = read.array(callData, 'transcript_json.callData');
  for (let index = 0; index < list.length; index += 1) {
    const field = `transcript_json.callData[${index}]`;
    const utterance = read.element(list[index], field);
    const words = wordArrays(read.array(utterance.words, `${field}.words`), field, read);
    total += words.value.length;
    rows.push([
      callId,
      at,
      index,
      read.text(utterance.from, `${field}.from`),
      read.text(utterance.content, `${field}.content`),
      read.numberText(utterance.datetime, `${field}.datetime`),
      read.numberText(utterance.duration, `${field}.duration`),
      read.numberText(utterance.score, `${field}.score`),
      words.value.length,
      words,
    ]);
  }
  return { rows, words: total };
};

/** The hot loop of flatten: most of a call is words, so the common case takes no function call per field. */
const wordArrays = (words: readonly unknown[], field: string, read: FieldReader): Words => {
  const count = words.length;
  const arrays: Words = {
    value: new Array(count),
    start: new Array(count),
    length: new Array(count),
    score: new Array(count),
  };
  for (let index = 0; index < count; index += 1) {
    const word = words[index];
    if (!isObject(word)) {
      arrays.value[index] = arrays.start[index] = arrays.length[index] = arrays.score[index] = null;
      read.note(`${field}.words[${index}]`, 'not an object');
      continue;
    }
    const { value, start, length, score } = word;
    arrays.value[index] =
      typeof value === 'string' ? cleanText(value) : read.text(value, `${field}.words[${index}].value`);
    arrays.start[index] = isPlain(start) ? start : read.numberText(start, `${field}.words[${index}].start`);
    arrays.length[index] = isPlain(length) ? length : read.numberText(length, `${field}.words[${index}].length`);
    arrays.score[index] = isPlain(score) ? score : read.numberText(score, `${field}.words[${index}].score`);
  }
  return arrays;
};

/** A finite number other than zero, whose sign could be negative and differ between warehouses. */
const isPlain = (value: unknown): value is number => typeof value === 'number' && value !== 0 && Number.isFinite(value);

const flattenTags = (callId: string, at: number | null, tags: unknown, read: FieldReader): unknown[][] =>
  read.array(tags, 'tags').map((item, index) => {
    const field = `tags[${index}]`;
    const tag = read.element(item, field);
    const value = tag.value;
    return [
      callId,
      at,
      index,
      read.text(tag.unique_id, `${field}.unique_id`),
      read.text(tag.display_name, `${field}.display_name`),
      read.numberText(tag.confidence, `${field}.confidence`),
      read.text(tag.type, `${field}.type`),
      typeof value === 'boolean' ? value : null,
      typeof value === 'number' ? read.number(value, `${field}.value`) : null,
      typeof value === 'string' ? read.text(value, `${field}.value`) : null,
      read.freeJson(value, `${field}.value`),
    ];
  });

/** Longest metadata key that is kept whole: an index entry of the call id and the key has at most 2,704 bytes. */
const maxKeyLength = 512;
const maxKeyBytes = 1_024;

/** The beginning of a key and a hash of all of it, so that keys which begin alike stay two. */
const cutKey = (key: string): string => {
  const suffix = `~${hash('sha256', key).slice(0, 16)}`;
  let cut = key.slice(0, maxKeyLength - suffix.length).toWellFormed();
  while (Buffer.byteLength(cut) > maxKeyBytes - suffix.length) cut = cut.slice(0, cut.length - 16).toWellFormed();
  return cut + suffix;
};
const udfKey = /^UDF_(num|text)_(\d\d)$/;

const flattenMetadata = (
  callId: string,
  at: number | null,
  metadata: unknown,
  read: FieldReader,
): { readonly rows: unknown[][]; readonly udfs: unknown[][]; readonly values: ReadonlyMap<string, string | null> } => {
  const values = new Map<string, string | null>();
  // In key order: which of two keys that are cut or cleaned to the same text stays must not depend on the sender.
  const given = read.object(metadata, 'metadata') ?? {};
  for (const rawKey of Object.keys(given).sort()) {
    const rawValue = given[rawKey];
    let key = read.clean(rawKey, 'metadata');
    if (key.length > maxKeyLength || key.length * 3 > maxKeyBytes) {
      if (key.length > maxKeyLength || Buffer.byteLength(key) > maxKeyBytes) {
        read.note('metadata', `a key longer than ${maxKeyLength} characters was cut`);
        key = cutKey(key);
      }
    }
    values.set(
      key,
      typeof rawValue === 'string' ? read.clean(rawValue, 'metadata value') : read.freeJson(rawValue, 'metadata value'),
    );
  }
  const rows: unknown[][] = [];
  const udfs: unknown[][] = [];
  for (const [key, value] of values) {
    rows.push([callId, at, key, value]);
    const match = udfKey.exec(key);
    if (match === null) continue;
    const kind = match[1] as string;
    const number = kind === 'num' && value !== null && value.trim() !== '' ? parseDecimal(value) : null;
    udfs.push([callId, at, kind, Number(match[2]), number ?? null, value, number === undefined]);
  }
  return { rows, udfs, values };
};

/** One row, or null when the call has no such contact. */
const flattenContact = (
  callId: string,
  at: number | null,
  side: 'in' | 'out',
  contact: unknown,
  read: FieldReader,
): ContactRow | null => {
  if (contact == null) return null;
  if (!isObject(contact)) return read.note(side, 'expected an object');
  const data = read.text(contact.data, `${side}.data`);
  const type = read.text(contact.type, `${side}.type`);
  const phone = type === 'PHONE' && data !== null ? (normalizePhone(data) ?? null) : null;
  return [callId, at, side, read.text(contact.label, `${side}.label`), data, type, phone];
};
