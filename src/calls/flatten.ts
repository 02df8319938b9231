/** Flatten: folded call → rows of every warehouse table, in the column order of `schemas/tables.ts`. Pure. */
import { type CallDocument, knownCallFields } from '../../schemas/call.ts';
import { type CallTableName, tableOf } from '../../schemas/tables.ts';
import { FieldReader } from './field-reader.ts';
import { flattenDetails } from './flatten-details.ts';

/** Raised whenever the rows of an unchanged document would change; every call then becomes pending. */
export const flattenVersion = 2;

export interface FlattenInput {
  readonly callId: string;
  readonly document: CallDocument;
  /** Microseconds since the epoch. */
  readonly firstSeenAt: number | null;
  readonly lastSeenAt: number | null;
  readonly missingSince: number | null;
  /** The field that holds the end of processing. */
  readonly processedField?: string;
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
export const flattenCall = (input: FlattenInput): FlatCall => {
  const { callId, document } = input;
  const processedField = input.processedField ?? 'qualified';
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
    input.lastSeenAt,
    input.missingSince,
  ];
  const documents = input.documents === true ? [[callId, at, read.json(document, 'document') ?? '{}']] : [];
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
      documents,
    },
  };
};
