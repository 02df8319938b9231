/** What is stored where, for how long, and what of it is about persons. The page on privacy derives from this. */
import type { TableName } from './tables.ts';

export interface StoredData {
  readonly holds: string;
  /** `yes`: as the privacy rules leave it. `keyed`: only hashes or tokens that need a key. */
  readonly personal: 'yes' | 'keyed' | 'call ids' | 'no';
  readonly kept: string;
}

const withTheCall = 'until the call is erased, or `privacy.retention.calls`';

/** Tables of the operational store (schema `callsync`). */
export const storeTables: Readonly<Record<string, StoredData>> = {
  inbox: {
    holds: 'deliveries: body, sender, outcome, call id; of erased calls a keyed hash instead',
    personal: 'yes',
    kept: 'bodies `store.inbox_retention` after they were folded; outcomes `store.delivery_retention`',
  },
  unloaded_deliveries: { holds: 'deliveries that a warehouse does not know yet', personal: 'no', kept: 'until loaded' },
  delivery_senders: { holds: 'agents and keys of deliveries, counted', personal: 'no', kept: 'until compacted' },
  quarantine: {
    holds: 'records that could not be read; sealed where there are privacy rules',
    personal: 'yes',
    kept: '`store.quarantine_retention`',
  },
  websocket_frames: { holds: 'frames of `callsync tap`', personal: 'yes', kept: '`store.frame_retention`' },
  ledger: {
    holds: 'call id, times, names of fields and hashes of values of each call',
    personal: 'call ids',
    kept: 'for good; erased calls as tombstones',
  },
  ledger_documents: {
    holds: 'the folded document of each call, deflated; short keyed hashes of what it names',
    personal: 'yes',
    kept: withTheCall,
  },
  warehouse_calls: { holds: 'what each warehouse has of each call', personal: 'call ids', kept: 'for good' },
  warehouse_days: { holds: 'days whose rows changed, by warehouse', personal: 'no', kept: 'until loaded' },
  warehouses: { holds: 'names and progress of warehouses', personal: 'no', kept: 'for good' },
  loads: { holds: 'commits into warehouses', personal: 'no', kept: '`store.load_retention`' },
  load_calls: { holds: 'calls of loads under way', personal: 'call ids', kept: 'until committed' },
  rereads: { holds: 'calls to be asked for again', personal: 'call ids', kept: 'until answered' },
  late_changes: { holds: 'how late calls change, by age', personal: 'no', kept: '400 days' },
  reread_bands: { holds: 'ages of calls that are read again', personal: 'no', kept: 'for good' },
  reread_runs: { holds: 'runs of re-reading', personal: 'no', kept: 'for good' },
  erased_keys: {
    holds: 'keyed hashes of erased call ids, and of values by which persons were erased',
    personal: 'keyed',
    kept: 'for good',
  },
  erasure_receipts: {
    holds: 'receipts of erasures: keyed hashes and counts, signed in a chain',
    personal: 'keyed',
    kept: 'for good',
  },
  erasure_requests: {
    holds: 'erasures that wait for a warehouse: keyed hashes, counts and ids of the erased calls',
    personal: 'call ids',
    kept: 'until their receipts are signed',
  },
  holds: { holds: 'legal holds: reason, who put them on, when', personal: 'no', kept: 'until they are taken off' },
  held_keys: {
    holds: 'keyed hashes of call ids, numbers and values that legal holds name',
    personal: 'keyed',
    kept: 'until the hold is taken off',
  },
  token_aliases: {
    holds: 'tokens of former keys, with the newest ones',
    personal: 'keyed',
    kept: 'until the person is erased, or the key is forgotten',
  },
  unloaded_aliases: { holds: 'aliases that a warehouse does not have yet', personal: 'keyed', kept: 'until loaded' },
  epochs: { holds: 'epochs of the ledger', personal: 'no', kept: 'for good' },
  windows: { holds: 'windows that were read, with counts', personal: 'no', kept: 'for good' },
  window_problems: { holds: 'windows that could not be read', personal: 'no', kept: 'until resolved' },
  watermarks: { holds: 'how far syncs are', personal: 'no', kept: 'for good' },
  verdicts: { holds: 'outcomes of reconciling, with counts', personal: 'no', kept: '`store.verdict_retention`' },
  drift: { holds: 'names of unknown fields, counted', personal: 'no', kept: 'for good' },
  request_limits: { holds: 'times of requests', personal: 'no', kept: 'seconds' },
  events: { holds: 'what operators did, and changes of version', personal: 'no', kept: 'for good' },
  notified_conditions: { holds: 'what is wrong now, as somebody was told', personal: 'no', kept: 'until it is right' },
  notification_messages: { holds: 'messages that are not sent yet', personal: 'no', kept: 'a day at most' },
  counters: { holds: 'numbers of rows', personal: 'no', kept: 'for good' },
  meta: { holds: 'single values of the store', personal: 'no', kept: 'for good' },
  migrations: { holds: 'which migrations ran', personal: 'no', kept: 'for good' },
};

/** Tables of every warehouse; staging tables of BigQuery hold the same rows for at most a day. */
export const warehouseTables: Readonly<Record<TableName, StoredData>> = {
  calls: { holds: 'one row a call with its free fields', personal: 'yes', kept: withTheCall },
  utterances: {
    holds: 'transcripts, with their words',
    personal: 'yes',
    kept: `${withTheCall}; \`privacy.retention.transcripts\`, words \`privacy.retention.words\``,
  },
  tags: { holds: 'tags', personal: 'yes', kept: withTheCall },
  metadata: {
    holds: 'metadata, every key',
    personal: 'yes',
    kept: `${withTheCall}; \`privacy.retention.free_fields\``,
  },
  udfs: { holds: 'user-defined fields', personal: 'yes', kept: withTheCall },
  contacts: { holds: 'telephone numbers or their tokens', personal: 'yes', kept: withTheCall },
  redactions: {
    holds: 'where privacy rules replaced words of transcripts, and by which detector',
    personal: 'no',
    kept: `${withTheCall}; \`privacy.retention.transcripts\``,
  },
  documents: { holds: 'whole documents, where `documents` is on', personal: 'yes', kept: withTheCall },
  changes: { holds: 'which field of a call changed when; no values', personal: 'call ids', kept: withTheCall },
  deliveries: { holds: 'deliveries with call ids; a keyed hash once erased', personal: 'call ids', kept: 'for good' },
  loads: { holds: 'commits', personal: 'no', kept: 'for good' },
  verdicts: { holds: 'outcomes of reconciling', personal: 'no', kept: 'for good' },
  token_aliases: {
    holds: 'tokens of former keys, with the newest ones',
    personal: 'keyed',
    kept: 'until the person is erased, or the key is forgotten',
  },
  sync_state: { holds: 'how far syncs are', personal: 'no', kept: 'for good' },
};

/** Tables of a Postgres warehouse while it has a search index. */
export const searchTables: Readonly<Record<string, StoredData>> = {
  transcript_search: {
    holds: 'words of transcripts with their positions, where there is a search index in Postgres',
    personal: 'yes',
    kept: 'as the utterances that they are of',
  },
  transcript_search_pending: {
    holds: 'calls that are not indexed for search yet',
    personal: 'call ids',
    kept: 'until indexed or erased, moments after their load',
  },
};

/** Files beside the store. */
export const storedFiles: Readonly<Record<string, StoredData>> = {
  'spool (`webhook.spool.dir`)': {
    holds: 'deliveries while the store is away, as the privacy rules leave them; damaged files',
    personal: 'yes',
    kept: 'until stored; damaged ones `webhook.spool.damaged_retention`',
  },
  'erasure log (`store.erasure_log`)': {
    holds: 'keyed hashes of erased call ids and persons, receipts, legal holds',
    personal: 'keyed',
    kept: 'for good',
  },
  'Temporal, process log, metrics': {
    holds: 'ranges, counts, error codes',
    personal: 'no',
    kept: 'as they are set up',
  },
};
