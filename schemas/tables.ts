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
  /**
   * Source of a value for flatten. A dotted path is read as the column's type. Flatten works out `=position`, `=count TABLE`, and
   * `=derived`, by the name of the column. Absent where code makes the rows whole, as of metadata, logs, the guard.
   */
  readonly from?: string;
}

export interface Table {
  readonly name: TableName;
  readonly grain: string;
  readonly description: string;
  /**
   * `call`: one row per call, carries the guard. `child`: replaced together with its call. `history`: rows of a call
   * that a load adds where they are not there yet, and that go when the call is erased. `log`: separate rows, upserted
   * by key, never changed by a call. `state`: one row that a small update of its own keeps, in no load.
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

const sentUnit = 'The service does not state the unit; the value is as sent.';

/** Readers of a column, and whether it holds personal data. A `!` after it makes the column required. */
const kinds: Readonly<Record<string, Pick<Column, 'open' | 'personal'>>> = {
  open: { open: true, personal: 'no' },
  id: { open: true, personal: 'id' },
  shown: { open: true },
  closed: { personal: 'no' },
  'closed-id': { personal: 'id' },
  personal: {},
};

/** One column a line: `name | type | kind | from | description`. From is `-` if code fills the rows. */
const columnsFrom = (text: string): readonly Column[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', type, kind = '', from = '', description] = line.split(' | ');
      const marks = kinds[kind.replace('!', '')];
      if (description === undefined || marks === undefined) throw new Error(`no column: ${line}`);
      return {
        name,
        type: type as ColumnType,
        description,
        ...(from === '-' ? {} : { from }),
        ...marks,
        ...(kind.endsWith('!') ? { required: true } : {}),
      };
    });

/**
 * A table: `name | kind | key | grain | column with the age of a row | how long rows are kept | description`, then its columns.
 * A `-` stands for none.
 */
const tableFrom = <T extends TableDefinition>(text: string): T => {
  const [head = '', ...columns] = text.trim().split('\n');
  const [name, kind, key = '', grain = '', agedBy = '', kept = '', description] = head.split(' | ');
  if (description === undefined) throw new Error(`no table: ${head}`);
  const given = Object.fromEntries(Object.entries({ kept, agedBy }).filter(([, value]) => value !== '-'));
  const table = { name, grain, description, kind, key: key.split(', '), ...given };
  return { ...table, columns: columnsFrom(columns.join('\n')) } as unknown as T;
};

const callId = "call_id | text | id! | =derived | Identifier of the call: the record's unique_id.";
const callTime = "The call's own time (UTC), repeated from calls so that child tables can be pruned by it.";
const ofCall = `${callId}\ncall_timestamp | timestamp | open | =derived | ${callTime}`;
const ofClosedCall = `${callId.replace('id!', 'closed-id!')}\ncall_timestamp | timestamp | closed | =derived | ${callTime}`;

export type TableName = CallTableName | LogTableName | 'changes' | 'sync_state';

/** Stands in table changes for all fields of a call's first revision. */
export const allFields = '*';

/** Columns that the loader fills in; flatten's rows end before them. */
export const guardColumns = columnsFrom(`
ledger_epoch | int | open! | - | Epoch of the ledger that sent the row; first part of the guard.
revision | int | open! | - | The call's revision in the ledger; second part of the guard.
flatten_version | int | open! | - | Version of the flattening that made the row; third part of the guard.
load_id | text | open! | - | The load that wrote the row (table loads).
content_hash | text | closed | - | Hash over all columns and child rows of the call, without documents; null in rows that are older than this column.`);

export const withTheCall = 'until the call is erased, or `privacy.retention.calls`';

export const tables: readonly Table[] = `
calls | call | call_id | call | - | - | One row per call, with scalar fields, contacts and counts.
${callId}
call_timestamp | timestamp | open | =derived | The call's own time (UTC); null if the service sent none or one that is not a date-time.
processed_at | timestamp | open | =derived | End of processing (field qualified), where the service sends it.
status | text | open | status | Status of the call, such as qualified or void.
campaign | text | open | campaign | Campaign identifier.
duration | float | open | duration | Duration of the call, parsed from its text. ${sentUnit}
ivr_end | float | open | ivr_end | End of the interactive voice response part. ${sentUnit}
audio_state | text | open | audio_state | State of the audio, such as AVAILABLE.
lang | text | open | transcript_json.meta.lang | Language code of the transcript (transcript_json.meta.lang).
asr_model | text | open | transcript_json.meta.asr_model | Speech-recognition model (transcript_json.meta.asr_model).
obfuscated | bool | open | transcript_json.meta.obfuscated | True if the transcript is obfuscated.
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
issues | json | personal | =derived | Array of {field, reason} for fields that could not be converted and are null here; null if there are none.
first_seen_at | timestamp | open | =derived | Service time of the earliest observation of the call, as of this revision's load.
last_seen_at | timestamp | open | =derived | Service time of the latest observation that changed the call. A repeated observation does not move it, so the value depends on the order of arrival.
source_deleted_at | timestamp | open | =derived | Time since which the service no longer lists the call; null while the service lists it.

utterances | child | call_id, utterance_index | call × utterance | - | ${withTheCall}; \`privacy.retention.transcripts\`, words \`privacy.retention.words\` | One row per utterance of the transcript, in the order sent, with its words as arrays.
${ofCall}
utterance_index | int | open! | =position | Position in the transcript, from 0.
side | text | open | from | Speaker side (field from), such as out.
content | text | personal | content | The text of the utterance.
start_offset | float | open | datetime | Start of the utterance (field datetime). ${sentUnit}
duration | float | open | duration | Duration of the utterance. ${sentUnit}
score | float | open | score | Score of the utterance, where sent.
word_count | int | open! | =count words | Number of its words.
words | words | personal | =derived | The words: value, start, length, score. ${sentUnit}

tags | child | call_id, tag_index | call × tag | - | - | One row per tag of a call, in the order sent.
${ofCall}
tag_index | int | open! | =position | Position in the list of tags, from 0.
tag_id | text | open | unique_id | Identifier of the tag (its unique_id).
display_name | text | open | display_name | Name of the tag.
confidence | float | open | confidence | Confidence as sent.
type | text | open | type | Type of the value, such as bool.
value_bool | bool | open | =derived | The value when it is a boolean.
value_number | float | personal | =derived | The value when it is a number.
value_text | text | personal | =derived | The value when it is text.
value | json | personal | value | The value as sent.

metadata | child | call_id, key | call × key | - | ${withTheCall}; \`privacy.retention.free_fields\` | One row per metadata key of a call, every key as sent.
${ofClosedCall}
key | text | personal! | - | Key as sent by the client.
value | text | personal | - | Value as text; values that are not text are written as JSON.

udfs | child | call_id, kind, udf_index | call × kind × index | - | - | User-defined fields, from the metadata keys UDF_num_nn and UDF_text_nn.
${ofClosedCall}
kind | text | closed! | - | num or text.
udf_index | int | closed! | - | The two-digit index nn of the key, as a number.
value_number | decimal | personal | - | UDF_num_nn as an exact number; null when it cannot be parsed.
value_text | text | personal | - | The text as sent, of either kind.
unparsable | bool | closed! | - | True for a UDF_num_nn whose text is not a number; false for empty text, which counts as no value.

contacts | child | call_id, side | call × side | - | - | The contacts of a call, fields in and out.
${ofCall}
side | text | open! | =derived | in or out.
label | text | personal | label | Label of the contact.
data | text | personal | data | Data as sent, a telephone number when type is PHONE.
type | text | open | type | Type of the contact, such as PHONE.
phone | text | personal | =derived | If type is PHONE, the number without separators, with a leading + if the sent number began with + or 00.

redactions | child | call_id, redaction_index | call × redaction | - | ${withTheCall}; \`privacy.retention.transcripts\` | Replacements of privacy rules in transcripts. One row per replaced span, with its place and detector, never the value.
${ofCall}
redaction_index | int | open! | - | Position among the redactions of the call, in the order of its words, from 0.
utterance_index | int | open! | - | Position of the utterance in the transcript, from 0.
first_word | int | open | - | Position of the first replaced word in its utterance, from 0. Null if the utterance has no words, or was replaced as a whole because text and words differed.
last_word | int | open | - | Position of the last replaced word; null where first_word is null.
detector | text | open! | - | Detector that found the value, such as phone or card, or the name of a configured pattern.
detector_version | int | open | - | Version of the detector; null for a configured pattern.

documents | child | call_id | call | - | - | The full folded document of each call, if the warehouse has documents set to true.
${ofClosedCall}
document | json | personal! | - | The whole call record as JSON.

changes | history | call_id, field, source, observed_at | call × field × revision | - | - | Changes of top-level fields of a call, with revision, source and time, never the value. One row with field * says that the call was first seen; later revisions have a row for each field that changed. The load of a revision adds its rows, and no load changes them. A field that changed twice between two loads shows once. Two warehouses may differ, so nothing compares this table. Changes by privacy rules have no row.
${callId}
call_timestamp | timestamp | open | =derived | The call's own time (UTC), as the load that added the row knew it.
field | text | open! | - | Name of the top-level field, or * for all fields of the first revision. extra stands for names longer than 64 characters, or with special characters.
revision | int | open! | - | Revision of the call in which the field changed; 1 if field is *.
source | text | open! | - | Source of the observation, which is webhook, poll or import.
observed_at | timestamp | open! | - | Service time of the observation. If field is *, the time of the earliest observation that callsync knew when it added the row.
loaded_at | timestamp | open | - | Time at which a load added the row; null in rows that are older than this column.
kind | text | open | - | added, changed or removed; a null field counts as absent. Null in rows that are older than this column.

deliveries | log | arrival_id | webhook delivery | received_at | \`store.warehouse_log_retention\` | Every webhook delivery that reached the receiver, with its outcome.
seq | int | open! | - | Number of the delivery in the inbox.
arrival_id | text | open! | - | UUID that the receiver gives on arrival. Unlike seq, it stays unique after a restore.
delivery_id | text | closed | - | Delivery header as sent; the signature does not cover it.
hook_id | text | open | - | Identifier of the webhook.
agent | text | open | - | User-agent of the sender, with its version.
received_at | timestamp | open! | - | Arrival at the receiver.
signing_key | text | open | - | Name of the secret that verified the signature; null if none did.
call_id | text | id | - | Call in the delivery; null until callsync has read it.
outcome | text | open! | - | accepted, duplicate, repeat, quarantined or rejected.
reason | text | closed | - | Reason of an outcome other than accepted.
revision | int | open | - | Revision that the delivery gave the call; null if the delivery changed nothing.
visible_at | timestamp | open | - | Time at which this warehouse first had that revision. Null if callsync wrote this row before that load; the mart delivery_latency has the time of every delivery.

loads | log | load_id | load | loaded_at | \`store.warehouse_log_retention\`; the newest 4,000 stay | Every commit into this warehouse.
load_id | text | open! | - | Identifier of the load.
ledger_epoch | int | open! | - | Epoch of the ledger that made the load.
flatten_version | int | open! | - | Version of the flattening.
origin | text | open! | - | Work that asked for the load, such as read, inbox, pending or rebuild.
calls_sent | int | open! | - | Calls in the load.
calls_changed | int | open! | - | Calls whose guard was higher and whose rows were written.
loaded_at | timestamp | open! | - | Time of the commit.

verdicts | log | digest | reconciled window | compared_at | \`store.verdict_retention\` | Verdicts, each the recorded result of comparing one window.
verdict_id | int | open! | - | Number of the verdict.
axis | text | open! | - | Axis of the window.
window_from | timestamp | open! | - | Start of the window, inclusive.
window_to | timestamp | open! | - | End of the window, exclusive.
level | text | closed! | - | Level of the comparison with the service (ids, fields or records).
warehouse_level | text | closed | - | Level of the comparison in this warehouse (guards or rows).
calls_listed | int | closed! | - | Calls that the service listed.
calls_found | int | closed! | - | Listed calls that were neither missing nor different.
missing | int | open! | - | Calls that this warehouse lacked, or that were new to the ledger although their part had been read.
different | int | open! | - | Calls that differed.
healed | int | open! | - | Calls healed.
deleted | int | open | - | Calls of the window that the service no longer lists.
unexpected | int | open | - | Calls in this warehouse that the ledger does not know.
excluded | int | closed | - | Listed calls that callsync must not keep, because they were erased or are beyond a retention limit.
confirmed | text | open | - | Evidence that the listing is complete (total, one_response, second_listing, page_overlap, or none).
outcome | text | open! | - | proven, healed, unproven or suspicious_empty.
compared_at | timestamp | open! | - | Time of the comparison.
ledger_epoch | int | closed | - | Epoch of the ledger that was compared.
flatten_version | int | closed | - | Version of the flattening that was compared.
revisions_digest | text | closed | - | SHA-256 over the ids and ledger revisions of the calls of the window after healing.
compared_by | text | closed | - | Version of callsync that compared; none where calls were erased, cut or sent again and nothing was compared since.
digest | text | closed! | - | HMAC-SHA-256 over this verdict and the digest before it, under the key of key_id.
key_id | text | closed | - | Identifier of the key of the digest. The key itself is in no store.
previous_digest | text | closed | - | Digest of the verdict before it; null for the first.

sync_state | state | warehouse | warehouse | - | no limit | Freshness and proof of this warehouse, in one row. callsync also updates the row while no call arrives, so that a quiet night does not look like a standstill.
warehouse | text | open! | - | Name of the warehouse in the configuration.
watermark | timestamp | open | - | Time up to which continuous sync has read every call, on its axis; null before the first sync.
newest_call | timestamp | open | - | Time of the newest call in this warehouse; null if none of the 500 newest calls is loaded.
proven_axis | text | open | - | Axis of the verdicts behind proven_through; null before the first verdict.
proven_through | timestamp | open | - | Time up to which every read window has a good verdict (proven or healed), without a gap; null while the first window has none.
pending | int | open! | - | Calls that wait for their load into this warehouse.
last_load_at | timestamp | open | - | Time of the last committed load.
last_error | text | open | - | Error code of the last run of continuous sync; null if that run succeeded.
ledger_epoch | int | open! | - | Epoch of the ledger that writes the row.
heartbeat_at | timestamp | open! | - | Time of the last update of this row.`
  .trim()
  .split('\n\n')
  .map((text) => tableFrom<Table>(text));

/** Keys of metadata that have a row in `udfs` too, with the same text. */
export const udfKey = /^UDF_(num|text)_(\d\d)$/;

/** Replaces the id of an erased call in deliveries: its keyed hash, with a mark. */
export const erasedPrefix = 'erased:';

/** Finds the definition of a table. Throws if there is none. */
export const tableOf = (name: TableName): Table => {
  const table = tables.find((candidate) => candidate.name === name);
  if (table === undefined) throw new Error(`no table ${name}`);
  return table;
};

/** Tables whose rows flatten makes, in the order in which loads write them: calls first. */
export const callTables = tables.filter(
  (table): table is Table & { readonly name: CallTableName } => table.kind === 'call' || table.kind === 'child',
);
/** Of them, those that a warehouse keeps with its setting `documents`. */
export const keptTables = (documents: boolean) => callTables.filter(({ name }) => documents || name !== 'documents');

/** Of these, the tables whose rows go with their call. */
export const childTables = (documents: boolean) => keptTables(documents).filter(({ kind }) => kind === 'child');

type ChildName = 'utterances' | 'tags' | 'metadata' | 'udfs' | 'contacts' | 'redactions' | 'documents';
export type CallTableName = 'calls' | ChildName;
export type LogTableName = 'deliveries' | 'loads' | 'verdicts';

/** A relation beside `tables`: a view over them, or a table that only loads read, with the same columns in every warehouse. */
interface OtherTable extends Pick<Table, 'grain' | 'description' | 'key' | 'columns'> {
  readonly name: 'words' | 'tombstones';
  readonly kind: 'view' | 'guard';
}

export type TableDefinition = Table | OtherTable;

/** The view over the word arrays; its columns are the same in every layout. */
export const wordsView = tableFrom<OtherTable & { readonly name: 'words' }>(`
words | view | call_id, utterance_index, word_index | call × utterance × word | - | - | One row per word of every utterance. A view over the arrays in utterances.
${ofCall}
utterance_index | int | open! | - | Position of the utterance, from 0.
word_index | int | open! | - | Position of the word in its utterance, from 0.
side | text | open | - | Speaker side of the utterance.
value | text | personal | - | The word.
start_offset | float | open | - | Start of the word. ${sentUnit}
length | float | open | - | Length of the word. ${sentUnit}
score | float | open | - | Score of the word.`);

/** Guards of erased calls. */
export const tombstonesTable = tableFrom<OtherTable>(`
tombstones | guard | call_key | erased call | - | - | Erased calls by keyed hash of their id. No load brings them back.
call_key | text | closed! | - | Keyed hash of the call id.
ledger_epoch | int | closed! | - | Epoch of the ledger that erased it.
revision | int | closed! | - | The call's revision in the ledger.
load_id | text | closed! | - | Load that wrote the row (table loads).
erased_at | timestamp | closed! | - | Time of the commit here.`);

/** Columns of a relation as analysts see them: those of table calls end with the guard. */
export const columnsOf = ({ kind, columns }: TableDefinition): readonly Column[] =>
  kind === 'call' ? [...columns, ...guardColumns] : columns;

/** The open columns of each relation that has any: the restricted role reads these and nothing else. */
export const openColumns: Readonly<Partial<Record<TableName | 'words', readonly string[]>>> = Object.fromEntries(
  [...tables, wordsView]
    .map((table) => [table.name, columnsOf(table).flatMap((one) => (one.open === true ? [one.name] : []))] as const)
    .filter(([, names]) => names.length > 0),
);
