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

/** Where flatten reads a value: a dotted path, read as the column's type says; or something that it works out. */
export type From =
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
  | 'missing_since'
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

const column =
  (type: ColumnType) =>
  (name: string, description: string, more: Omit<Column, 'name' | 'type' | 'description'> = {}): Column => ({
    name,
    type,
    description,
    ...more,
  });
const [text, timestamp, float, int] = [column('text'), column('timestamp'), column('float'), column('int')];
const [bool, json, decimal, words] = [column('bool'), column('json'), column('decimal'), column('words')];

const open = { open: true, personal: 'no' } as const;
const always = { ...open, required: true } as const;
const openId = { open: true, personal: 'id' } as const;
const closed = { personal: 'no' } as const;

const callId = text('call_id', "Identifier of the call: the record's unique_id.", {
  from: { derive: 'call_id' },
  ...openId,
  required: true,
});
const callTimestamp = timestamp(
  'call_timestamp',
  "The call's own time (UTC), repeated from calls so that child tables can be pruned by it.",
  { from: { derive: 'call_timestamp' }, ...open },
);
const { open: _id, ...closedCallId } = callId;
const { open: _time, ...closedCallTimestamp } = callTimestamp;

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
  'sync_state',
] as const;
export type TableName = (typeof tableNames)[number];

/** Stands in table changes for all fields of a call's first revision. */
export const allFields = '*';

/** Columns that the loader fills in; flatten's rows end before them. */
export const guardColumns: readonly Column[] = [
  int('ledger_epoch', 'Epoch of the ledger that sent the row; first part of the guard.', always),
  int('revision', "The call's revision in the ledger; second part of the guard.", always),
  int('flatten_version', 'Version of the flattening that made the row; third part of the guard.', always),
  text('load_id', 'The load that wrote the row (table loads).', always),
  text(
    'content_hash',
    'Hash over all columns and child rows of the call as it was written, documents left out; null for rows of callsync before it had one.',
    closed,
  ),
];

export const withTheCall = 'until the call is erased, or `privacy.retention.calls`';

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
      timestamp('processed_at', 'End of processing (field qualified), where the service sends it.', {
        from: { derive: 'processed_at' },
        ...open,
      }),
      text('status', 'Status of the call, such as qualified or void.', { from: 'status', ...open }),
      text('campaign', 'Campaign identifier.', { from: 'campaign', ...open }),
      float('duration', `Duration of the call, parsed from its text. ${sentUnit}`, { from: 'duration', ...open }),
      float('ivr_end', `End of the interactive voice response part. ${sentUnit}`, { from: 'ivr_end', ...open }),
      text('audio_state', 'State of the audio, such as AVAILABLE.', { from: 'audio_state', ...open }),
      text('lang', 'Language code of the transcript (transcript_json.meta.lang).', {
        from: 'transcript_json.meta.lang',
        ...open,
      }),
      text('asr_model', 'Speech-recognition model (transcript_json.meta.asr_model).', {
        from: 'transcript_json.meta.asr_model',
        ...open,
      }),
      bool('obfuscated', 'Whether the transcript is obfuscated, parsed from its text.', {
        from: 'transcript_json.meta.obfuscated',
        ...open,
      }),
      text('transcript_call_id', 'transcript_json.callUniqueId; may be an empty string.', {
        from: 'transcript_json.callUniqueId',
      }),
      text('in_label', 'Label of the inbound contact.', { from: 'in.label' }),
      text('in_data', 'Data of the inbound contact, a telephone number when its type is PHONE.', { from: 'in.data' }),
      text('in_type', 'Type of the inbound contact, such as PHONE.', { from: 'in.type', ...open }),
      text('out_label', 'Label of the outbound contact.', { from: 'out.label' }),
      text('out_data', 'Data of the outbound contact, a telephone number when its type is PHONE.', {
        from: 'out.data',
      }),
      text('out_type', 'Type of the outbound contact, such as PHONE.', { from: 'out.type', ...open }),
      text('client_id', 'metadata.ClientID.', { from: 'metadata.ClientID' }),
      text('agent', 'metadata.Agent.', { from: 'metadata.Agent', open: true }),
      text('direction', 'metadata.Direction.', { from: 'metadata.Direction', ...open }),
      text('dept', 'metadata.Dept.', { from: 'metadata.Dept', ...open }),
      text('ani', 'metadata.ANI.', { from: 'metadata.ANI' }),
      text('client_capture_date', 'metadata.ClientCaptureDate as sent (its time zone is not stated).', {
        from: 'metadata.ClientCaptureDate',
      }),
      text('audio_file_location', 'metadata.AudioFileLocation.', { from: 'metadata.AudioFileLocation' }),
      json('visit', 'Object visit as sent; its shape is not specified.', { from: 'visit' }),
      json('tracking_info', 'Object tracking_info as sent; its shape is not specified.', { from: 'tracking_info' }),
      json('qualification', 'Object qualification as sent, where the service sends it.', { from: 'qualification' }),
      json('extra', 'Object of all top-level fields that callsync does not know, as sent.', {
        from: { derive: 'extra' },
      }),
      int('utterance_count', 'Number of rows in utterances.', {
        from: { count: 'utterances' },
        ...open,
        required: true,
      }),
      int('word_count', 'Number of words over all utterances.', { from: { count: 'words' }, ...open, required: true }),
      int('tag_count', 'Number of rows in tags.', { from: { count: 'tags' }, ...open, required: true }),
      json('issues', 'Array of {field, reason}: fields that could not be typed and are null here; null if none.', {
        from: { derive: 'issues' },
      }),
      timestamp('first_seen_at', "Service time of the earliest observation of the call, as of this revision's load.", {
        from: { derive: 'first_seen_at' },
        ...open,
      }),
      timestamp(
        'last_seen_at',
        'Service time of the latest observation that changed the call. One that repeats what is known does not move it, so the same observations in another order may leave another time: never later than the last observation.',
        { from: { derive: 'last_seen_at' }, ...open },
      ),
      timestamp('missing_since', 'Since when the service no longer lists the call; null while it does.', {
        from: { derive: 'missing_since' },
        ...open,
      }),
    ],
  },
  {
    name: 'utterances',
    grain: 'call × utterance',
    description: 'One row per utterance of the transcript, in the order sent, with its words as arrays.',
    kind: 'child',
    key: ['call_id', 'utterance_index'],
    kept: `${withTheCall}; \`privacy.retention.transcripts\`, words \`privacy.retention.words\``,
    columns: [
      callId,
      callTimestamp,
      int('utterance_index', 'Position in the transcript, from 0.', {
        from: { position: true },
        ...open,
        required: true,
      }),
      text('side', 'Speaker side (field from), such as out.', { from: 'from', ...open }),
      text('content', 'The text of the utterance.', { from: 'content' }),
      float('start_offset', `Start of the utterance (field datetime). ${sentUnit}`, { from: 'datetime', ...open }),
      float('duration', `Duration of the utterance. ${sentUnit}`, { from: 'duration', ...open }),
      float('score', 'Score of the utterance, where sent.', { from: 'score', ...open }),
      int('word_count', 'Number of its words.', { from: { count: 'words' }, ...open, required: true }),
      words('words', `The words: value, start, length, score. ${sentUnit}`, { from: { derive: 'words' } }),
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
      int('tag_index', 'Position in the list of tags, from 0.', { from: { position: true }, ...open, required: true }),
      text('tag_id', 'Identifier of the tag (its unique_id).', { from: 'unique_id', ...open }),
      text('display_name', 'Name of the tag.', { from: 'display_name', ...open }),
      float('confidence', 'Confidence as sent.', { from: 'confidence', ...open }),
      text('type', 'Type of the value, such as bool.', { from: 'type', ...open }),
      bool('value_bool', 'The value when it is a boolean.', { from: { derive: 'value_bool' }, ...open }),
      float('value_number', 'The value when it is a number.', { from: { derive: 'value_number' } }),
      text('value_text', 'The value when it is text.', { from: { derive: 'value_text' } }),
      json('value', 'The value as sent.', { from: 'value' }),
    ],
  },
  {
    name: 'metadata',
    grain: 'call × key',
    description: 'One row per metadata key of a call, every key as sent.',
    kind: 'child',
    key: ['call_id', 'key'],
    kept: `${withTheCall}; \`privacy.retention.free_fields\``,
    columns: [
      closedCallId,
      closedCallTimestamp,
      text('key', 'Key as sent by the client.', { required: true }),
      text('value', 'Value as text; values that are not text are written as JSON.'),
    ],
  },
  {
    name: 'udfs',
    grain: 'call × kind × index',
    description: 'User-defined fields: metadata keys UDF_num_nn and UDF_text_nn.',
    kind: 'child',
    key: ['call_id', 'kind', 'udf_index'],
    columns: [
      closedCallId,
      closedCallTimestamp,
      text('kind', 'num or text.', { ...closed, required: true }),
      int('udf_index', 'The two-digit index nn of the key, as a number.', { ...closed, required: true }),
      decimal('value_number', 'UDF_num_nn as an exact number; null when it cannot be parsed.'),
      text('value_text', 'The text as sent, of either kind.'),
      bool(
        'unparsable',
        'True for a UDF_num_nn whose text is not a number (empty text counts as no value, not as unparsable).',
        { ...closed, required: true },
      ),
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
      text('side', 'in or out.', { from: { derive: 'side' }, ...open, required: true }),
      text('label', 'Label of the contact.', { from: 'label' }),
      text('data', 'Data as sent, a telephone number when type is PHONE.', { from: 'data' }),
      text('type', 'Type of the contact, such as PHONE.', { from: 'type', ...open }),
      text(
        'phone',
        'When type is PHONE: the number without separators, with a leading + if it had one or began with 00.',
        { from: { derive: 'phone' } },
      ),
    ],
  },
  {
    name: 'redactions',
    grain: 'call × redaction',
    description:
      'What privacy rules replaced in transcripts: one row per replaced span, its place and what found it, never the value. Empty for calls without such rules.',
    kind: 'child',
    key: ['call_id', 'redaction_index'],
    kept: `${withTheCall}; \`privacy.retention.transcripts\``,
    columns: [
      callId,
      callTimestamp,
      int('redaction_index', 'Position among the redactions of the call, in the order of its words, from 0.', always),
      int('utterance_index', 'Position of the utterance in the transcript, from 0.', always),
      int(
        'first_word',
        'Position of the first replaced word in its utterance, from 0; null where text and words differed, so that all of the utterance was replaced, or where it has no words.',
        open,
      ),
      int('last_word', 'Position of the last replaced word; null as first_word.', open),
      text('detector', 'What found it, such as phone or card, or the name of a configured pattern.', always),
      int('detector_version', 'Version of the detector; null for a configured pattern.', open),
    ],
  },
  {
    name: 'documents',
    grain: 'call',
    description: 'The full folded document of each call (only with documents: true).',
    kind: 'child',
    key: ['call_id'],
    columns: [
      closedCallId,
      closedCallTimestamp,
      json('document', 'The whole call record as JSON.', { required: true }),
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
      text(
        'field',
        'Name of the top-level field; * for all fields of the first revision; extra for names longer than 64 characters or with other characters than letters, digits, _, - and the dot.',
        always,
      ),
      int('revision', "The call's revision in the ledger with which the field changed; 1 where field is *.", always),
      text('source', 'What brought the observation: webhook, poll or import.', always),
      timestamp(
        'observed_at',
        'Service time of the observation; where field is *, of the earliest one that was known when the row was added.',
        always,
      ),
    ],
  },
  {
    name: 'deliveries',
    grain: 'webhook delivery',
    description: 'Every webhook delivery that reached the receiver and what became of it.',
    kind: 'log',
    key: ['arrival_id'],
    kept: 'for good',
    columns: [
      int('seq', 'Number of the delivery in the inbox.', always),
      text(
        'arrival_id',
        'UUID given on arrival; unlike seq, no other delivery ever gets it, also after a restore.',
        always,
      ),
      text('delivery_id', 'Delivery header as sent (not under the signature).', closed),
      text('hook_id', 'Identifier of the webhook.', open),
      text('agent', 'User-agent of the sender, with its version.', open),
      timestamp('received_at', 'Arrival at the receiver.', always),
      text('signing_key', 'Name of the secret that verified the signature; null if none did.', open),
      text('call_id', 'The call it brought, once read.', openId),
      text('outcome', 'accepted, duplicate, repeat, quarantined or rejected.', always),
      text('reason', 'Why, for outcomes other than accepted.', closed),
    ],
  },
  {
    name: 'loads',
    grain: 'load',
    description: 'Every commit into this warehouse.',
    kind: 'log',
    key: ['load_id'],
    kept: 'for good',
    columns: [
      text('load_id', 'Identifier of the load.', always),
      int('ledger_epoch', 'Epoch of the ledger that made it.', always),
      int('flatten_version', 'Version of the flattening.', always),
      text('origin', 'What asked for it: read, inbox, pending, rebuild, ….', always),
      int('calls_sent', 'Calls in the load.', always),
      int('calls_changed', 'Calls whose guard was higher and whose rows were written.', always),
      timestamp('loaded_at', 'When it was committed.', always),
    ],
  },
  {
    name: 'verdicts',
    grain: 'reconciled window',
    description: 'What was proven complete: the recorded outcome of reconciling one window.',
    kind: 'log',
    key: ['digest'],
    kept: 'for good',
    columns: [
      int('verdict_id', 'Number of the verdict.', always),
      text('axis', 'Axis of the window.', always),
      timestamp('window_from', 'Start of the window, inclusive.', always),
      timestamp('window_to', 'End of the window, exclusive.', always),
      text('level', 'ids, fields or records: what was compared with the service.', { ...closed, required: true }),
      text('warehouse_level', 'guards or rows: what was compared in this warehouse.', closed),
      int('calls_listed', 'Calls that the service listed.', { ...closed, required: true }),
      int('calls_found', 'Of those, calls found equal in this warehouse before healing.', {
        ...closed,
        required: true,
      }),
      int('missing', 'Calls that were missing here, or new to the ledger.', always),
      int('different', 'Calls that differed.', always),
      int('healed', 'Calls healed.', always),
      int('gone', 'Calls of the window that the service no longer lists.', open),
      int('surplus', 'Calls found here of which the ledger knows nothing.', open),
      int(
        'kept_out',
        'Listed calls that may be nowhere: they were erased, or are too old to be kept. Null in verdicts of earlier versions.',
        closed,
      ),
      text(
        'confirmed',
        'How the listing was shown to be complete: total, one_response, second_listing, overlap, or none.',
        open,
      ),
      text('outcome', 'proven, healed, unproven or suspicious_empty.', always),
      timestamp('compared_at', 'When it was compared.', always),
      int('ledger_epoch', 'Epoch of the ledger that was compared.', closed),
      int('flatten_version', 'Version of the flattening that was compared.', closed),
      text(
        'revisions_digest',
        'SHA-256 over the ids and ledger revisions of the calls of the window after healing.',
        closed,
      ),
      text('compared_by', 'Version of callsync that compared.', closed),
      text('digest', 'HMAC-SHA-256 over this verdict and the digest before it, under the key of key_id.', {
        ...closed,
        required: true,
      }),
      text('key_id', 'Identifies the key of the digest; the key itself is in no store.', closed),
      text('previous_digest', 'Digest of the verdict before it; null for the first.', closed),
    ],
  },
  {
    name: 'sync_state',
    grain: 'warehouse',
    description:
      'How fresh and how proven this warehouse is: one row, kept also while no call arrives, so that a quiet night does not look like a standstill.',
    kind: 'state',
    key: ['warehouse'],
    kept: 'for good',
    columns: [
      text('warehouse', 'Name of the warehouse in the configuration.', always),
      timestamp(
        'watermark',
        'Everything from the start of continuous sync up to it was read, on its axis; null before the first sync.',
        open,
      ),
      timestamp(
        'newest_call',
        'Time of the newest call that this warehouse holds; null while it lacks the newest 500.',
        open,
      ),
      text('proven_axis', 'Axis of the verdicts behind proven_through; null before the first verdict.', open),
      timestamp(
        'proven_through',
        'Everything that was read before it has a good verdict (proven or healed), without a gap; null while the first window has none.',
        open,
      ),
      int('pending', 'Calls that wait to be loaded here.', always),
      timestamp('last_load_at', 'When the last load was committed.', open),
      text('last_error', 'Code of what the last run of continuous sync failed with; null once one succeeded.', open),
      int('ledger_epoch', 'Epoch of the ledger that keeps the row.', always),
      timestamp('heartbeat_at', 'When this row was last brought up to date.', always),
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
export type LogTableName = 'deliveries' | 'loads' | 'verdicts';

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
    int('utterance_index', 'Position of the utterance, from 0.', always),
    int('word_index', 'Position of the word in its utterance, from 0.', always),
    text('side', 'Speaker side of the utterance.', open),
    text('value', 'The word.'),
    float('start_offset', `Start of the word. ${sentUnit}`, open),
    float('length', `Length of the word. ${sentUnit}`, open),
    float('score', 'Score of the word.', open),
  ],
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
