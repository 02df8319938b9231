/**
 * The warehouse tables: names, grain, columns, where their values come from and who may read them, written once. DDL, comments,
 * the readers of flatten, the restricted role's rights, the data contract and the pages derive from here. Types are logical;
 * each warehouse maps them.
 */

export type ColumnType =
  | 'text'
  /** Microseconds since the epoch as a JS number; stored as a UTC instant. */
  | 'timestamp'
  | 'float'
  | 'int'
  | 'bool'
  /** JSON text. */
  | 'json'
  /** Exact decimal as text, at most 38 digits on either side of the point. */
  | 'decimal'
  /** The words of an utterance as parallel arrays (`WordArrays`); each warehouse chooses their layout. */
  | 'words';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly description: string;
  readonly required?: true;
  /** The restricted role may read it; without this it is closed. */
  readonly open?: true;
  /** `no`: nothing about a person. `id`: only the identifier of a call. Without this it is about persons. */
  readonly personal?: 'no' | 'id';
  /** Absent where code makes the rows whole: metadata, logs, the guard. */
  readonly from?: From;
}

/** Source of a value for flatten: a dotted path, read as the column's type, or a computed value. */
type From =
  | string
  | { readonly position: true }
  | { readonly count: 'utterances' | 'tags' | 'words' }
  | { readonly derive: Derived };

/** Values that code works out (`src/calls/flatten.ts`). */
export type Derived =
  | 'call_id'
  | 'call_timestamp'
  | 'processed_at'
  | 'extra'
  | 'issues'
  | 'first_seen_at'
  | 'last_seen_at'
  | 'source_deleted_at'
  | 'words'
  | 'value_bool'
  | 'value_number'
  | 'value_text'
  | 'side'
  | 'phone';

export interface Table {
  readonly name: TableName;
  readonly grain: string;
  readonly description: string;
  /**
   * `call`: one row per call, carries the guard. `child`: replaced together with its call. `history`: rows of a call that a
   * load adds where they are not there yet, and that go when the call is erased. `log`: rows of their own, upserted by key,
   * never changed by a call. `state`: one row that a small update of its own keeps, in no load.
   */
  readonly kind: 'call' | 'child' | 'history' | 'log' | 'state';
  readonly key: readonly string[];
  readonly columns: readonly Column[];
  /** How long its rows are kept; as long as their call where it is absent. */
  readonly kept?: string;
  /** Column with the time of a row in a log table. */
  readonly agedBy?: string;
}

/** Values by the names of columns, as flatten makes them: timestamps in microseconds, JSON and decimals as text. */
export type Row = Readonly<Record<string, unknown>>;

export interface WordArrays {
  readonly value: readonly (string | null)[];
  readonly start: readonly (number | null)[];
  readonly length: readonly (number | null)[];
  readonly score: readonly (number | null)[];
}

const sentUnit = 'Unit not stated by the service; stored as sent.';

/** Readers of a column, and whether it holds personal data. A `!` after it makes the column required. */
const kinds: Readonly<Record<string, Pick<Column, 'open' | 'personal'>>> = {
  open: { open: true, personal: 'no' },
  id: { open: true, personal: 'id' },
  shown: { open: true },
  closed: { personal: 'no' },
  'closed-id': { personal: 'id' },
  personal: {},
};

/**
 * One column a line: `name | type | kind | from | description`.
 * From is a path in the record, `=position`, `=count TABLE`, `=derived` (computed by flatten under the column's
 * name), or `-` if code fills the rows.
 */
const columnsFrom = (text: string): readonly Column[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', type, kind = '', from = '', description] = line.split(' | ');
      const marks = kinds[kind.replace('!', '')];
      if (description === undefined || marks === undefined) throw new Error(`no column: ${line}`);
      const source = fromOf(from, name);
      return {
        name,
        type: type as ColumnType,
        description,
        ...(source === undefined ? {} : { from: source }),
        ...marks,
        ...(kind.endsWith('!') ? { required: true } : {}),
      };
    });

const fromOf = (text: string, name: string): From | undefined => {
  if (text === '-') return undefined;
  if (text === '=position') return { position: true };
  if (text === '=derived') return { derive: name as Derived };
  const [, count] = /^=count (\w+)$/.exec(text) ?? [];
  return count === undefined ? text : { count: count as 'utterances' | 'tags' | 'words' };
};

const callId = "call_id | text | id! | =derived | Identifier of the call: the record's unique_id.";
const callTime = "The call's own time (UTC), repeated from calls so that child tables can be pruned by it.";
const ofCall = `${callId}\ncall_timestamp | timestamp | open | =derived | ${callTime}`;
const ofClosedCall = `${callId.replace('id!', 'closed-id!')}\ncall_timestamp | timestamp | closed | =derived | ${callTime}`;

const tableNames = [
  'calls',
  'utterances',
  'tags',
  'metadata',
  'udfs',
  'contacts',
  'redactions',
  'documents',
  'changes',
  'deliveries',
  'loads',
  'verdicts',
  'sync_state',
] as const;
export type TableName = (typeof tableNames)[number];

/** Stands in table changes for all fields of a call's first revision. */
export const allFields = '*';

/** Columns that the loader fills in; flatten's rows end before them. */
export const guardColumns = columnsFrom(`
ledger_epoch | int | open! | - | Epoch of the ledger that sent the row; first part of the guard.
revision | int | open! | - | The call's revision in the ledger; second part of the guard.
flatten_version | int | open! | - | Version of the flattening that made the row; third part of the guard.
load_id | text | open! | - | The load that wrote the row (table loads).
content_hash | text | closed | - | Hash over all columns and child rows of the call as it was written, documents left out; null for rows of callsync before it had one.`);

export const withTheCall = 'until the call is erased, or `privacy.retention.calls`';

export const tables: readonly Table[] = [
  {
    name: 'calls',
    grain: 'call',
    description: 'One row per call: its scalar fields, contacts and counts.',
    kind: 'call',
    key: ['call_id'],
    columns: columnsFrom(`
${callId}
call_timestamp | timestamp | open | =derived | The call's own time (UTC); null when it was not sent or is not a date-time.
processed_at | timestamp | open | =derived | End of processing (field qualified), where the service sends it.
status | text | open | status | Status of the call, such as qualified or void.
campaign | text | open | campaign | Campaign identifier.
duration | float | open | duration | Duration of the call, parsed from its text. ${sentUnit}
ivr_end | float | open | ivr_end | End of the interactive voice response part. ${sentUnit}
audio_state | text | open | audio_state | State of the audio, such as AVAILABLE.
lang | text | open | transcript_json.meta.lang | Language code of the transcript (transcript_json.meta.lang).
asr_model | text | open | transcript_json.meta.asr_model | Speech-recognition model (transcript_json.meta.asr_model).
obfuscated | bool | open | transcript_json.meta.obfuscated | Whether the transcript is obfuscated, parsed from its text.
transcript_call_id | text | personal | transcript_json.callUniqueId | transcript_json.callUniqueId; may be an empty string.
in_label | text | personal | in.label | Label of the inbound contact.
in_data | text | personal | in.data | Data of the inbound contact, a telephone number when its type is PHONE.
in_type | text | open | in.type | Type of the inbound contact, such as PHONE.
out_label | text | personal | out.label | Label of the outbound contact.
out_data | text | personal | out.data | Data of the outbound contact, a telephone number when its type is PHONE.
out_type | text | open | out.type | Type of the outbound contact, such as PHONE.
client_id | text | personal | metadata.ClientID | metadata.ClientID.
agent | text | shown | metadata.Agent | metadata.Agent.
direction | text | open | metadata.Direction | metadata.Direction.
dept | text | open | metadata.Dept | metadata.Dept.
ani | text | personal | metadata.ANI | metadata.ANI.
client_capture_date | text | personal | metadata.ClientCaptureDate | metadata.ClientCaptureDate as sent (its time zone is not stated).
audio_file_location | text | personal | metadata.AudioFileLocation | metadata.AudioFileLocation.
visit | json | personal | visit | Object visit as sent; its shape is not specified.
tracking_info | json | personal | tracking_info | Object tracking_info as sent; its shape is not specified.
qualification | json | personal | qualification | Object qualification as sent, where the service sends it.
extra | json | personal | =derived | Object of all top-level fields that callsync does not know, as sent.
utterance_count | int | open! | =count utterances | Number of rows in utterances.
word_count | int | open! | =count words | Number of words over all utterances.
tag_count | int | open! | =count tags | Number of rows in tags.
issues | json | personal | =derived | Array of {field, reason}: fields that could not be typed and are null here; null if none.
first_seen_at | timestamp | open | =derived | Service time of the earliest observation of the call, as of this revision's load.
last_seen_at | timestamp | open | =derived | Service time of the latest observation that changed the call. One that repeats what is known does not move it, so the same observations in another order may leave another time: never later than the last observation.
source_deleted_at | timestamp | open | =derived | Since when the service no longer lists the call; null while it does.`),
  },
  {
    name: 'utterances',
    grain: 'call × utterance',
    description: 'One row per utterance of the transcript, in the order sent, with its words as arrays.',
    kind: 'child',
    key: ['call_id', 'utterance_index'],
    kept: `${withTheCall}; \`privacy.retention.transcripts\`, words \`privacy.retention.words\``,
    columns: columnsFrom(`
${ofCall}
utterance_index | int | open! | =position | Position in the transcript, from 0.
side | text | open | from | Speaker side (field from), such as out.
content | text | personal | content | The text of the utterance.
start_offset | float | open | datetime | Start of the utterance (field datetime). ${sentUnit}
duration | float | open | duration | Duration of the utterance. ${sentUnit}
score | float | open | score | Score of the utterance, where sent.
word_count | int | open! | =count words | Number of its words.
words | words | personal | =derived | The words: value, start, length, score. ${sentUnit}`),
  },
  {
    name: 'tags',
    grain: 'call × tag',
    description: 'One row per tag of a call, in the order sent.',
    kind: 'child',
    key: ['call_id', 'tag_index'],
    columns: columnsFrom(`
${ofCall}
tag_index | int | open! | =position | Position in the list of tags, from 0.
tag_id | text | open | unique_id | Identifier of the tag (its unique_id).
display_name | text | open | display_name | Name of the tag.
confidence | float | open | confidence | Confidence as sent.
type | text | open | type | Type of the value, such as bool.
value_bool | bool | open | =derived | The value when it is a boolean.
value_number | float | personal | =derived | The value when it is a number.
value_text | text | personal | =derived | The value when it is text.
value | json | personal | value | The value as sent.`),
  },
  {
    name: 'metadata',
    grain: 'call × key',
    description: 'One row per metadata key of a call, every key as sent.',
    kind: 'child',
    key: ['call_id', 'key'],
    kept: `${withTheCall}; \`privacy.retention.free_fields\``,
    columns: columnsFrom(`
${ofClosedCall}
key | text | personal! | - | Key as sent by the client.
value | text | personal | - | Value as text; values that are not text are written as JSON.`),
  },
  {
    name: 'udfs',
    grain: 'call × kind × index',
    description: 'User-defined fields: metadata keys UDF_num_nn and UDF_text_nn.',
    kind: 'child',
    key: ['call_id', 'kind', 'udf_index'],
    columns: columnsFrom(`
${ofClosedCall}
kind | text | closed! | - | num or text.
udf_index | int | closed! | - | The two-digit index nn of the key, as a number.
value_number | decimal | personal | - | UDF_num_nn as an exact number; null when it cannot be parsed.
value_text | text | personal | - | The text as sent, of either kind.
unparsable | bool | closed! | - | True for a UDF_num_nn whose text is not a number (empty text counts as no value, not as unparsable).`),
  },
  {
    name: 'contacts',
    grain: 'call × side',
    description: 'The contacts of a call, fields in and out.',
    kind: 'child',
    key: ['call_id', 'side'],
    columns: columnsFrom(`
${ofCall}
side | text | open! | =derived | in or out.
label | text | personal | label | Label of the contact.
data | text | personal | data | Data as sent, a telephone number when type is PHONE.
type | text | open | type | Type of the contact, such as PHONE.
phone | text | personal | =derived | When type is PHONE: the number without separators, with a leading + if it had one or began with 00.`),
  },
  {
    name: 'redactions',
    grain: 'call × redaction',
    description:
      'Replacements of privacy rules in transcripts: one row per span with its place and detector, never the value. Empty for calls without such rules.',
    kind: 'child',
    key: ['call_id', 'redaction_index'],
    kept: `${withTheCall}; \`privacy.retention.transcripts\``,
    columns: columnsFrom(`
${ofCall}
redaction_index | int | open! | - | Position among the redactions of the call, in the order of its words, from 0.
utterance_index | int | open! | - | Position of the utterance in the transcript, from 0.
first_word | int | open | - | Position of the first replaced word in its utterance, from 0; null where text and words differed, so that all of the utterance was replaced, or where it has no words.
last_word | int | open | - | Position of the last replaced word; null as first_word.
detector | text | open! | - | What found it, such as phone or card, or the name of a configured pattern.
detector_version | int | open | - | Version of the detector; null for a configured pattern.`),
  },
  {
    name: 'documents',
    grain: 'call',
    description: 'The full folded document of each call (only with documents: true).',
    kind: 'child',
    key: ['call_id'],
    columns: columnsFrom(`
${ofClosedCall}
document | json | personal! | - | The whole call record as JSON.`),
  },
  {
    name: 'changes',
    grain: 'call × field × revision',
    description:
      'Changes of top-level fields of a call, with revision, source and time, never the value. One row with field * says that the call was first seen; later revisions have a row for each field that changed. The load of a revision adds its rows, and no load changes them. A field that changed twice between two loads shows once. Two warehouses may differ, so nothing compares this table. Changes by privacy rules, and those before the table existed, have no row.',
    kind: 'history',
    key: ['call_id', 'field', 'source', 'observed_at'],
    columns: columnsFrom(`
${callId}
call_timestamp | timestamp | open | =derived | The call's own time (UTC), as the load that added the row knew it.
field | text | open! | - | Name of the top-level field; * for all fields of the first revision; extra for names longer than 64 characters or with other characters than letters, digits, _, - and the dot.
revision | int | open! | - | The call's revision in the ledger with which the field changed; 1 where field is *.
source | text | open! | - | What brought the observation: webhook, poll or import.
observed_at | timestamp | open! | - | Service time of the observation; where field is *, of the earliest one that was known when the row was added.
loaded_at | timestamp | open | - | When a load added the row here; null in rows that are older than this column.
kind | text | open | - | added, changed or removed; a field that is null counts as absent. Null in rows that are older than this column.`),
  },
  {
    name: 'deliveries',
    grain: 'webhook delivery',
    description: 'Every webhook delivery that reached the receiver and what became of it.',
    kind: 'log',
    key: ['arrival_id'],
    kept: '`store.warehouse_log_retention`',
    agedBy: 'received_at',
    columns: columnsFrom(`
seq | int | open! | - | Number of the delivery in the inbox.
arrival_id | text | open! | - | UUID given on arrival; unlike seq, no other delivery ever gets it, also after a restore.
delivery_id | text | closed | - | Delivery header as sent (not under the signature).
hook_id | text | open | - | Identifier of the webhook.
agent | text | open | - | User-agent of the sender, with its version.
received_at | timestamp | open! | - | Arrival at the receiver.
signing_key | text | open | - | Name of the secret that verified the signature; null if none did.
call_id | text | id | - | The call it brought, once read.
outcome | text | open! | - | accepted, duplicate, repeat, quarantined or rejected.
reason | text | closed | - | Why, for outcomes other than accepted.
revision | int | open | - | The call's revision in the ledger with what the delivery brought; null if it changed nothing.
visible_at | timestamp | open | - | When this warehouse first had that revision, as far as callsync knew when it wrote the row; the mart delivery_latency knows it of every delivery.`),
  },
  {
    name: 'loads',
    grain: 'load',
    description: 'Every commit into this warehouse.',
    kind: 'log',
    key: ['load_id'],
    kept: '`store.warehouse_log_retention`; the newest 4,000 stay',
    agedBy: 'loaded_at',
    columns: columnsFrom(`
load_id | text | open! | - | Identifier of the load.
ledger_epoch | int | open! | - | Epoch of the ledger that made it.
flatten_version | int | open! | - | Version of the flattening.
origin | text | open! | - | What asked for it: read, inbox, pending, rebuild, ….
calls_sent | int | open! | - | Calls in the load.
calls_changed | int | open! | - | Calls whose guard was higher and whose rows were written.
loaded_at | timestamp | open! | - | When it was committed.`),
  },
  {
    name: 'verdicts',
    grain: 'reconciled window',
    description: 'Verdicts: the recorded result of comparing one window.',
    kind: 'log',
    key: ['digest'],
    kept: '`store.verdict_retention`',
    agedBy: 'compared_at',
    columns: columnsFrom(`
verdict_id | int | open! | - | Number of the verdict.
axis | text | open! | - | Axis of the window.
window_from | timestamp | open! | - | Start of the window, inclusive.
window_to | timestamp | open! | - | End of the window, exclusive.
level | text | closed! | - | ids, fields or records: what was compared with the service.
warehouse_level | text | closed | - | guards or rows: what was compared in this warehouse.
calls_listed | int | closed! | - | Calls that the service listed.
calls_found | int | closed! | - | Of those, calls found equal in this warehouse before healing.
missing | int | open! | - | Calls that were missing here, or new to the ledger.
different | int | open! | - | Calls that differed.
healed | int | open! | - | Calls healed.
deleted | int | open | - | Calls of the window that the service no longer lists.
unexpected | int | open | - | Calls found here of which the ledger knows nothing.
excluded | int | closed | - | Listed calls that may be nowhere: they were erased, or are too old to be kept.
confirmed | text | open | - | How the listing was shown to be complete: total, one_response, second_listing, page_overlap, or none.
outcome | text | open! | - | proven, healed, unproven or suspicious_empty.
compared_at | timestamp | open! | - | When it was compared.
ledger_epoch | int | closed | - | Epoch of the ledger that was compared.
flatten_version | int | closed | - | Version of the flattening that was compared.
revisions_digest | text | closed | - | SHA-256 over the ids and ledger revisions of the calls of the window after healing.
compared_by | text | closed | - | Version of callsync that compared.
digest | text | closed! | - | HMAC-SHA-256 over this verdict and the digest before it, under the key of key_id.
key_id | text | closed | - | Identifies the key of the digest; the key itself is in no store.
previous_digest | text | closed | - | Digest of the verdict before it; null for the first.`),
  },
  {
    name: 'sync_state',
    grain: 'warehouse',
    description:
      'Freshness and proof of this warehouse, in one row. callsync updates it also while no call arrives, so that a quiet night does not look like a standstill.',
    kind: 'state',
    key: ['warehouse'],
    kept: 'no limit',
    columns: columnsFrom(`
warehouse | text | open! | - | Name of the warehouse in the configuration.
watermark | timestamp | open | - | Everything from the start of continuous sync up to it was read, on its axis; null before the first sync.
newest_call | timestamp | open | - | Time of the newest call that this warehouse holds; NULL if none of the 500 newest calls is loaded.
proven_axis | text | open | - | Axis of the verdicts behind proven_through; null before the first verdict.
proven_through | timestamp | open | - | Everything that was read before it has a good verdict (proven or healed), without a gap; null while the first window has none.
pending | int | open! | - | Calls that wait to be loaded here.
last_load_at | timestamp | open | - | When the last load was committed.
last_error | text | open | - | Code of what the last run of continuous sync failed with; null once one succeeded.
ledger_epoch | int | open! | - | Epoch of the ledger that keeps the row.
heartbeat_at | timestamp | open! | - | When this row was last brought up to date.`),
  },
];

/** Replaces the id of an erased call in deliveries: its keyed hash, with a mark. */
export const erasedPrefix = 'erased:';

/** The definition of one table. */
export const tableOf = (name: TableName): Table => {
  const table = tables.find((candidate) => candidate.name === name);
  if (table === undefined) throw new Error(`no table ${name}`);
  return table;
};

/** Tables whose rows flatten makes, in the order in which loads write them: calls first. */
export const callTables = tables.filter(
  (table): table is Table & { readonly name: CallTableName } => table.kind === 'call' || table.kind === 'child',
);
export type CallTableName =
  | 'calls'
  | 'utterances'
  | 'tags'
  | 'metadata'
  | 'udfs'
  | 'contacts'
  | 'redactions'
  | 'documents';
export type LogTableName = 'deliveries' | 'loads' | 'verdicts';

/** A view over tables, with the same columns in every warehouse. */
interface TableView extends Pick<Table, 'grain' | 'description' | 'key' | 'columns'> {
  readonly name: 'words';
  readonly kind: 'view';
}

/** The view over the word arrays; its columns are the same in every layout. */
export const wordsView: TableView = {
  name: 'words',
  grain: 'call × utterance × word',
  description: 'One row per word of every utterance: a view over the arrays in utterances.',
  kind: 'view',
  key: ['call_id', 'utterance_index', 'word_index'],
  columns: columnsFrom(`
${ofCall}
utterance_index | int | open! | - | Position of the utterance, from 0.
word_index | int | open! | - | Position of the word in its utterance, from 0.
side | text | open | - | Speaker side of the utterance.
value | text | personal | - | The word.
start_offset | float | open | - | Start of the word. ${sentUnit}
length | float | open | - | Length of the word. ${sentUnit}
score | float | open | - | Score of the word.`),
};

/** Columns of a relation as analysts see them: those of table calls end with the guard. */
export const columnsOf = ({ kind, columns }: Table | TableView): readonly Column[] =>
  kind === 'call' ? [...columns, ...guardColumns] : columns;

/** The open columns of each relation that has any: the restricted role reads these and nothing else. */
export const openColumns: Readonly<Partial<Record<TableName | 'words', readonly string[]>>> = Object.fromEntries(
  [...tables, wordsView]
    .map((table) => [table.name, columnsOf(table).flatMap((one) => (one.open === true ? [one.name] : []))] as const)
    .filter(([, names]) => names.length > 0),
);
