/**
 * The warehouse tables: names, grain, columns and their descriptions, written once. DDL, column comments, the data
 * dictionary and the column order of flatten's rows derive from here. Types are logical; each warehouse maps them.
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
  readonly required?: true;
  readonly description: string;
}

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
  /** Of a log table: a row that comes without a value of this column removes the one of its key. */
  readonly removedWithout?: string;
  readonly columns: readonly Column[];
}

export interface WordArrays {
  readonly value: readonly (string | null)[];
  readonly start: readonly (number | null)[];
  readonly length: readonly (number | null)[];
  readonly score: readonly (number | null)[];
}

const sentUnit = 'Unit not stated by the service; stored as sent.';

const callId: Column = {
  name: 'call_id',
  type: 'text',
  required: true,
  description: "Identifier of the call: the record's unique_id.",
};
const callTimestamp: Column = {
  name: 'call_timestamp',
  type: 'timestamp',
  description: "The call's own time (UTC), repeated from calls so that child tables can be pruned by it.",
};

export const tableNames = [
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
  'token_aliases',
  'sync_state',
] as const;
export type TableName = (typeof tableNames)[number];

/** Stands in table changes for all fields of a call's first revision. */
export const allFields = '*';

/** Columns that the loader fills in; flatten's rows end before them. */
export const guardColumns: readonly Column[] = [
  {
    name: 'ledger_epoch',
    type: 'int',
    required: true,
    description: 'Epoch of the ledger that sent the row; first part of the guard.',
  },
  {
    name: 'revision',
    type: 'int',
    required: true,
    description: "The call's revision in the ledger; second part of the guard.",
  },
  {
    name: 'flatten_version',
    type: 'int',
    required: true,
    description: 'Version of the flattening that made the row; third part of the guard.',
  },
  { name: 'load_id', type: 'text', required: true, description: 'The load that wrote the row (table loads).' },
  {
    name: 'content_hash',
    type: 'text',
    description:
      'Hash over all columns and child rows of the call as it was written, documents left out; null for rows of callsync before it had one.',
  },
];

export const tables: readonly Table[] = [
  {
    name: 'calls',
    grain: 'call',
    description: 'One row per call: its scalar fields, contacts and counts.',
    kind: 'call',
    key: ['call_id'],
    columns: [
      callId,
      { ...callTimestamp, description: "The call's own time (UTC); null when it was not sent or is not a date-time." },
      {
        name: 'processed_at',
        type: 'timestamp',
        description: 'End of processing (field qualified), where the service sends it.',
      },
      { name: 'status', type: 'text', description: 'Status of the call, such as qualified or void.' },
      { name: 'campaign', type: 'text', description: 'Campaign identifier.' },
      { name: 'duration', type: 'float', description: `Duration of the call, parsed from its text. ${sentUnit}` },
      { name: 'ivr_end', type: 'float', description: `End of the interactive voice response part. ${sentUnit}` },
      { name: 'audio_state', type: 'text', description: 'State of the audio, such as AVAILABLE.' },
      { name: 'lang', type: 'text', description: 'Language code of the transcript (transcript_json.meta.lang).' },
      { name: 'asr_model', type: 'text', description: 'Speech-recognition model (transcript_json.meta.asr_model).' },
      { name: 'obfuscated', type: 'bool', description: 'Whether the transcript is obfuscated, parsed from its text.' },
      {
        name: 'transcript_call_id',
        type: 'text',
        description: 'transcript_json.callUniqueId; may be an empty string.',
      },
      { name: 'in_label', type: 'text', description: 'Label of the inbound contact.' },
      {
        name: 'in_data',
        type: 'text',
        description: 'Data of the inbound contact, a telephone number when its type is PHONE.',
      },
      { name: 'in_type', type: 'text', description: 'Type of the inbound contact, such as PHONE.' },
      { name: 'out_label', type: 'text', description: 'Label of the outbound contact.' },
      {
        name: 'out_data',
        type: 'text',
        description: 'Data of the outbound contact, a telephone number when its type is PHONE.',
      },
      { name: 'out_type', type: 'text', description: 'Type of the outbound contact, such as PHONE.' },
      { name: 'client_id', type: 'text', description: 'metadata.ClientID.' },
      { name: 'agent', type: 'text', description: 'metadata.Agent.' },
      { name: 'direction', type: 'text', description: 'metadata.Direction.' },
      { name: 'dept', type: 'text', description: 'metadata.Dept.' },
      { name: 'ani', type: 'text', description: 'metadata.ANI.' },
      {
        name: 'client_capture_date',
        type: 'text',
        description: 'metadata.ClientCaptureDate as sent (its time zone is not stated).',
      },
      { name: 'audio_file_location', type: 'text', description: 'metadata.AudioFileLocation.' },
      { name: 'visit', type: 'json', description: 'Object visit as sent; its shape is not specified.' },
      { name: 'tracking_info', type: 'json', description: 'Object tracking_info as sent; its shape is not specified.' },
      { name: 'qualification', type: 'json', description: 'Object qualification as sent, where the service sends it.' },
      {
        name: 'extra',
        type: 'json',
        description: 'Object of all top-level fields that callsync does not know, as sent.',
      },
      { name: 'utterance_count', type: 'int', required: true, description: 'Number of rows in utterances.' },
      { name: 'word_count', type: 'int', required: true, description: 'Number of words over all utterances.' },
      { name: 'tag_count', type: 'int', required: true, description: 'Number of rows in tags.' },
      {
        name: 'issues',
        type: 'json',
        description: 'Array of {field, reason}: fields that could not be typed and are null here; null if none.',
      },
      {
        name: 'first_seen_at',
        type: 'timestamp',
        description: "Service time of the earliest observation of the call, as of this revision's load.",
      },
      {
        name: 'last_seen_at',
        type: 'timestamp',
        description:
          'Service time of the latest observation that changed the call. One that repeats what is known does not move it, so the same observations in another order may leave another time: never later than the last observation.',
      },
      {
        name: 'missing_since',
        type: 'timestamp',
        description: 'Since when the service no longer lists the call; null while it does.',
      },
    ],
  },
  {
    name: 'utterances',
    grain: 'call × utterance',
    description: 'One row per utterance of the transcript, in the order sent, with its words as arrays.',
    kind: 'child',
    key: ['call_id', 'utterance_index'],
    columns: [
      callId,
      callTimestamp,
      { name: 'utterance_index', type: 'int', required: true, description: 'Position in the transcript, from 0.' },
      { name: 'side', type: 'text', description: 'Speaker side (field from), such as out.' },
      { name: 'content', type: 'text', description: 'The text of the utterance.' },
      { name: 'start_offset', type: 'float', description: `Start of the utterance (field datetime). ${sentUnit}` },
      { name: 'duration', type: 'float', description: `Duration of the utterance. ${sentUnit}` },
      { name: 'score', type: 'float', description: 'Score of the utterance, where sent.' },
      { name: 'word_count', type: 'int', required: true, description: 'Number of its words.' },
      { name: 'words', type: 'words', description: `The words: value, start, length, score. ${sentUnit}` },
    ],
  },
  {
    name: 'tags',
    grain: 'call × tag',
    description: 'One row per tag of a call, in the order sent.',
    kind: 'child',
    key: ['call_id', 'tag_index'],
    columns: [
      callId,
      callTimestamp,
      { name: 'tag_index', type: 'int', required: true, description: 'Position in the list of tags, from 0.' },
      { name: 'tag_id', type: 'text', description: 'Identifier of the tag (its unique_id).' },
      { name: 'display_name', type: 'text', description: 'Name of the tag.' },
      { name: 'confidence', type: 'float', description: 'Confidence as sent.' },
      { name: 'type', type: 'text', description: 'Type of the value, such as bool.' },
      { name: 'value_bool', type: 'bool', description: 'The value when it is a boolean.' },
      { name: 'value_number', type: 'float', description: 'The value when it is a number.' },
      { name: 'value_text', type: 'text', description: 'The value when it is text.' },
      { name: 'value', type: 'json', description: 'The value as sent.' },
    ],
  },
  {
    name: 'metadata',
    grain: 'call × key',
    description: 'One row per metadata key of a call, every key as sent.',
    kind: 'child',
    key: ['call_id', 'key'],
    columns: [
      callId,
      callTimestamp,
      { name: 'key', type: 'text', required: true, description: 'Key as sent by the client.' },
      { name: 'value', type: 'text', description: 'Value as text; values that are not text are written as JSON.' },
    ],
  },
  {
    name: 'udfs',
    grain: 'call × kind × index',
    description: 'User-defined fields: metadata keys UDF_num_nn and UDF_text_nn.',
    kind: 'child',
    key: ['call_id', 'kind', 'udf_index'],
    columns: [
      callId,
      callTimestamp,
      { name: 'kind', type: 'text', required: true, description: 'num or text.' },
      {
        name: 'udf_index',
        type: 'int',
        required: true,
        description: 'The two-digit index nn of the key, as a number.',
      },
      {
        name: 'value_number',
        type: 'decimal',
        description: 'UDF_num_nn as an exact number; null when it cannot be parsed.',
      },
      { name: 'value_text', type: 'text', description: 'The text as sent, of either kind.' },
      {
        name: 'unparsable',
        type: 'bool',
        required: true,
        description:
          'True for a UDF_num_nn whose text is not a number (empty text counts as no value, not as unparsable).',
      },
    ],
  },
  {
    name: 'contacts',
    grain: 'call × side',
    description: 'The contacts of a call, fields in and out.',
    kind: 'child',
    key: ['call_id', 'side'],
    columns: [
      callId,
      callTimestamp,
      { name: 'side', type: 'text', required: true, description: 'in or out.' },
      { name: 'label', type: 'text', description: 'Label of the contact.' },
      { name: 'data', type: 'text', description: 'Data as sent, a telephone number when type is PHONE.' },
      { name: 'type', type: 'text', description: 'Type of the contact, such as PHONE.' },
      {
        name: 'phone',
        type: 'text',
        description:
          'When type is PHONE: the number without separators, with a leading + if it had one or began with 00.',
      },
    ],
  },
  {
    name: 'redactions',
    grain: 'call × redaction',
    description:
      'What privacy rules replaced in transcripts: one row per replaced span, its place and what found it, never the value. Empty for calls without such rules.',
    kind: 'child',
    key: ['call_id', 'redaction_index'],
    columns: [
      callId,
      callTimestamp,
      {
        name: 'redaction_index',
        type: 'int',
        required: true,
        description: 'Position among the redactions of the call, in the order of its words, from 0.',
      },
      {
        name: 'utterance_index',
        type: 'int',
        required: true,
        description: 'Position of the utterance in the transcript, from 0.',
      },
      {
        name: 'first_word',
        type: 'int',
        description:
          'Position of the first replaced word in its utterance, from 0; null where text and words differed, so that all of the utterance was replaced, or where it has no words.',
      },
      { name: 'last_word', type: 'int', description: 'Position of the last replaced word; null as first_word.' },
      {
        name: 'detector',
        type: 'text',
        required: true,
        description: 'What found it, such as phone or card, or the name of a configured pattern.',
      },
      {
        name: 'detector_version',
        type: 'int',
        description: 'Version of the detector; null for a configured pattern.',
      },
    ],
  },
  {
    name: 'documents',
    grain: 'call',
    description: 'The full folded document of each call (only with documents: true).',
    kind: 'child',
    key: ['call_id'],
    columns: [
      callId,
      callTimestamp,
      { name: 'document', type: 'json', required: true, description: 'The whole call record as JSON.' },
    ],
  },
  {
    name: 'changes',
    grain: 'call × field × revision',
    description:
      'Which top-level field of a call changed, with which revision, by which source and when; never what it holds. One row with field * says that the call was first seen; later revisions have a row for each field that changed. Rows are added by the load that brings the revision, and not changed afterwards: what changed twice between two loads shows once, and two warehouses may differ, so nothing compares it. Changes by privacy rules, and those that were loaded before the table existed, have no row.',
    kind: 'history',
    key: ['call_id', 'field', 'source', 'observed_at'],
    columns: [
      callId,
      { ...callTimestamp, description: "The call's own time (UTC), as the load that added the row knew it." },
      {
        name: 'field',
        type: 'text',
        required: true,
        description:
          'Name of the top-level field; * for all fields of the first revision; extra for names longer than 64 characters or with other characters than letters, digits, _, - and the dot.',
      },
      {
        name: 'revision',
        type: 'int',
        required: true,
        description: "The call's revision in the ledger with which the field changed; 1 where field is *.",
      },
      {
        name: 'source',
        type: 'text',
        required: true,
        description: 'What brought the observation: webhook, poll or import.',
      },
      {
        name: 'observed_at',
        type: 'timestamp',
        required: true,
        description:
          'Service time of the observation; where field is *, of the earliest one that was known when the row was added.',
      },
    ],
  },
  {
    name: 'deliveries',
    grain: 'webhook delivery',
    description: 'Every webhook delivery that reached the receiver and what became of it.',
    kind: 'log',
    key: ['arrival_id'],
    columns: [
      { name: 'seq', type: 'int', required: true, description: 'Number of the delivery in the inbox.' },
      {
        name: 'arrival_id',
        type: 'text',
        required: true,
        description: 'UUID given on arrival; unlike seq, no other delivery ever gets it, also after a restore.',
      },
      { name: 'delivery_id', type: 'text', description: 'Delivery header as sent (not under the signature).' },
      { name: 'hook_id', type: 'text', description: 'Identifier of the webhook.' },
      { name: 'agent', type: 'text', description: 'User-agent of the sender, with its version.' },
      { name: 'received_at', type: 'timestamp', required: true, description: 'Arrival at the receiver.' },
      {
        name: 'signing_key',
        type: 'text',
        description: 'Name of the secret that verified the signature; null if none did.',
      },
      { name: 'call_id', type: 'text', description: 'The call it brought, once read.' },
      {
        name: 'outcome',
        type: 'text',
        required: true,
        description: 'accepted, duplicate, repeat, quarantined or rejected.',
      },
      { name: 'reason', type: 'text', description: 'Why, for outcomes other than accepted.' },
    ],
  },
  {
    name: 'loads',
    grain: 'load',
    description: 'Every commit into this warehouse.',
    kind: 'log',
    key: ['load_id'],
    columns: [
      { name: 'load_id', type: 'text', required: true, description: 'Identifier of the load.' },
      { name: 'ledger_epoch', type: 'int', required: true, description: 'Epoch of the ledger that made it.' },
      { name: 'flatten_version', type: 'int', required: true, description: 'Version of the flattening.' },
      {
        name: 'origin',
        type: 'text',
        required: true,
        description: 'What asked for it: read, inbox, pending, rebuild, ….',
      },
      { name: 'calls_sent', type: 'int', required: true, description: 'Calls in the load.' },
      {
        name: 'calls_changed',
        type: 'int',
        required: true,
        description: 'Calls whose guard was higher and whose rows were written.',
      },
      { name: 'loaded_at', type: 'timestamp', required: true, description: 'When it was committed.' },
    ],
  },
  {
    name: 'verdicts',
    grain: 'reconciled window',
    description: 'What was proven complete: the recorded outcome of reconciling one window.',
    kind: 'log',
    key: ['digest'],
    columns: [
      { name: 'verdict_id', type: 'int', required: true, description: 'Number of the verdict.' },
      { name: 'axis', type: 'text', required: true, description: 'Axis of the window.' },
      { name: 'window_from', type: 'timestamp', required: true, description: 'Start of the window, inclusive.' },
      { name: 'window_to', type: 'timestamp', required: true, description: 'End of the window, exclusive.' },
      {
        name: 'level',
        type: 'text',
        required: true,
        description: 'ids, fields or records: what was compared with the service.',
      },
      {
        name: 'warehouse_level',
        type: 'text',
        description: 'guards or rows: what was compared in this warehouse.',
      },
      { name: 'calls_listed', type: 'int', required: true, description: 'Calls that the service listed.' },
      {
        name: 'calls_found',
        type: 'int',
        required: true,
        description: 'Of those, calls found equal in this warehouse before healing.',
      },
      {
        name: 'missing',
        type: 'int',
        required: true,
        description: 'Calls that were missing here, or new to the ledger.',
      },
      { name: 'different', type: 'int', required: true, description: 'Calls that differed.' },
      { name: 'healed', type: 'int', required: true, description: 'Calls healed.' },
      { name: 'gone', type: 'int', description: 'Calls of the window that the service no longer lists.' },
      { name: 'surplus', type: 'int', description: 'Calls found here of which the ledger knows nothing.' },
      {
        name: 'kept_out',
        type: 'int',
        description:
          'Listed calls that may be nowhere: they were erased, or are too old to be kept. Null in verdicts of earlier versions.',
      },
      {
        name: 'confirmed',
        type: 'text',
        description: 'How the listing was shown to be complete: total, one_response, second_listing, overlap, or none.',
      },
      { name: 'outcome', type: 'text', required: true, description: 'proven, healed, unproven or suspicious_empty.' },
      { name: 'compared_at', type: 'timestamp', required: true, description: 'When it was compared.' },
      { name: 'ledger_epoch', type: 'int', description: 'Epoch of the ledger that was compared.' },
      { name: 'flatten_version', type: 'int', description: 'Version of the flattening that was compared.' },
      {
        name: 'revisions_digest',
        type: 'text',
        description: 'SHA-256 over the ids and ledger revisions of the calls of the window after healing.',
      },
      { name: 'compared_by', type: 'text', description: 'Version of callsync that compared.' },
      {
        name: 'digest',
        type: 'text',
        required: true,
        description: 'HMAC-SHA-256 over this verdict and the digest before it, under the key of key_id.',
      },
      { name: 'key_id', type: 'text', description: 'Identifies the key of the digest; the key itself is in no store.' },
      { name: 'previous_digest', type: 'text', description: 'Digest of the verdict before it; null for the first.' },
    ],
  },
  {
    name: 'token_aliases',
    grain: 'token of a former key',
    description:
      'After a change of the key of tokens: what leads from a former token to the newest one of the same value. Empty where there are no former keys.',
    kind: 'log',
    key: ['old_token'],
    removedWithout: 'new_token',
    columns: [
      {
        name: 'old_token',
        type: 'text',
        required: true,
        description: 'Token that a former key made (`privacy.former_keys`), as rows of earlier calls have it.',
      },
      {
        name: 'new_token',
        type: 'text',
        description: 'The newest token of the same value; it is never in old_token, so that one join leads to it.',
      },
    ],
  },
  {
    name: 'sync_state',
    grain: 'warehouse',
    description:
      'How fresh and how proven this warehouse is: one row, kept also while no call arrives, so that a quiet night does not look like a standstill.',
    kind: 'state',
    key: ['warehouse'],
    columns: [
      { name: 'warehouse', type: 'text', required: true, description: 'Name of the warehouse in the configuration.' },
      {
        name: 'watermark',
        type: 'timestamp',
        description: 'Everything before it was read, on the axis of continuous sync; null before the first sync.',
      },
      {
        name: 'newest_call',
        type: 'timestamp',
        description: 'Time of the newest call that this warehouse holds; null while it lacks the newest 500.',
      },
      {
        name: 'proven_axis',
        type: 'text',
        description: 'Axis of the verdicts behind proven_through; null before the first verdict.',
      },
      {
        name: 'proven_through',
        type: 'timestamp',
        description:
          'Everything that was read before it has a good verdict (proven or healed), without a gap; null while the first window has none.',
      },
      { name: 'pending', type: 'int', required: true, description: 'Calls that wait to be loaded here.' },
      { name: 'last_load_at', type: 'timestamp', description: 'When the last load was committed.' },
      {
        name: 'last_error',
        type: 'text',
        description: 'Code of what the last run of continuous sync failed with; null once one succeeded.',
      },
      { name: 'ledger_epoch', type: 'int', required: true, description: 'Epoch of the ledger that keeps the row.' },
      {
        name: 'heartbeat_at',
        type: 'timestamp',
        required: true,
        description: 'When this row was last brought up to date.',
      },
    ],
  },
];

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
export type LogTableName = 'deliveries' | 'loads' | 'verdicts' | 'token_aliases';

/** A view over tables, with the same columns in every warehouse. */
export interface TableView extends Pick<Table, 'grain' | 'description' | 'key' | 'columns'> {
  readonly name: 'words';
  readonly kind: 'view';
}

/** The view over the word arrays; the same columns whatever the layout. */
export const wordsView: TableView = {
  name: 'words',
  grain: 'call × utterance × word',
  description: 'One row per word of every utterance: a view over the arrays in utterances.',
  kind: 'view',
  key: ['call_id', 'utterance_index', 'word_index'],
  columns: [
    callId,
    callTimestamp,
    { name: 'utterance_index', type: 'int', required: true, description: 'Position of the utterance, from 0.' },
    { name: 'word_index', type: 'int', required: true, description: 'Position of the word in its utterance, from 0.' },
    { name: 'side', type: 'text', description: 'Speaker side of the utterance.' },
    { name: 'value', type: 'text', description: 'The word.' },
    { name: 'start_offset', type: 'float', description: `Start of the word. ${sentUnit}` },
    { name: 'length', type: 'float', description: `Length of the word. ${sentUnit}` },
    { name: 'score', type: 'float', description: 'Score of the word.' },
  ],
};
