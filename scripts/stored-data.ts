/** Every stored place, its content, personal data and retention. The data inventory derives from this. */
import { type Column, columnsOf, tables, withTheCall } from '../schemas/tables.ts';

interface StoredData {
  readonly holds: string;
  /** `yes`: as the privacy rules leave it. `keyed`: only hashes or tokens that need a key. */
  readonly personal: 'yes' | 'keyed' | 'call ids' | 'no';
  readonly kept: string;
}

type Places = Readonly<Record<string, StoredData>>;

/** Tables of the store (schema `callsync`). */
const store: Places = {
  inbox: {
    holds: 'body, sender, outcome and call id of each delivery; for erased calls, a keyed hash of the id',
    personal: 'yes',
    kept: 'bodies until merged, and at least `store.inbox_retention`; outcomes `store.delivery_retention`',
  },
  visible_deliveries: {
    holds: 'time at which each warehouse first had the changes of a delivery',
    personal: 'no',
    kept: '`store.delivery_retention`',
  },
  expired_deliveries: { holds: 'expired deliveries, counted by day and outcome', personal: 'no', kept: 'no limit' },
  unloaded_deliveries: { holds: 'deliveries that a warehouse does not know yet', personal: 'no', kept: 'until loaded' },
  delivery_senders: { holds: 'agents and keys of deliveries, counted', personal: 'no', kept: 'until compacted' },
  quarantine: {
    holds: 'records that callsync cannot read; sealed if there are privacy rules',
    personal: 'yes',
    kept: '`store.quarantine_retention` if the call came in since; else until 30 days after a replay or drop',
  },
  websocket_frames: { holds: 'frames of `callsync frames`', personal: 'yes', kept: '`store.frame_retention`' },
  ledger: {
    holds: 'call id, times, names of fields and hashes of values of each call',
    personal: 'call ids',
    kept: 'no limit; of an erased call, only the id stays, as a tombstone',
  },
  ledger_documents: {
    holds: 'the folded document of each call, compressed; short keyed hashes of the values in it',
    personal: 'yes',
    kept: withTheCall,
  },
  warehouse_calls: {
    holds: 'revision of each call in each warehouse',
    personal: 'call ids',
    kept: 'no limit; of a removed warehouse `store.delivery_retention`',
  },
  warehouses: { holds: 'names and progress of warehouses', personal: 'no', kept: 'no limit' },
  loads: { holds: 'commits into warehouses', personal: 'no', kept: '`store.load_retention`' },
  load_calls: { holds: 'calls of running loads', personal: 'call ids', kept: 'until committed' },
  rereads: { holds: 'calls that callsync must read again', personal: 'call ids', kept: 'until answered' },
  late_changes: { holds: 'how late calls change, by age', personal: 'no', kept: '400 days' },
  reread_bands: { holds: 'ages of calls that callsync reads again', personal: 'no', kept: 'no limit' },
  reread_runs: { holds: 'runs of re-reading, of an earlier version', personal: 'no', kept: 'no limit' },
  erased_keys: {
    holds: 'keyed hashes of erased call ids, and of values by which persons were erased',
    personal: 'keyed',
    kept: 'no limit',
  },
  erasure_receipts: {
    holds: 'receipts of erasures: keyed hashes and counts, signed in a chain',
    personal: 'keyed',
    kept: 'no limit',
  },
  erasure_requests: {
    holds: 'erasures that wait for a warehouse: keyed hashes, counts and ids of the erased calls',
    personal: 'call ids',
    kept: 'until their receipts are signed',
  },
  holds: { holds: 'reason, user and time of each legal hold', personal: 'no', kept: 'until removed' },
  held_keys: {
    holds: 'keyed hashes of call ids, numbers and values that legal holds name',
    personal: 'keyed',
    kept: 'until the hold is removed',
  },
  token_keys: { holds: 'fingerprints of keys', personal: 'no', kept: 'no limit' },
  epochs: { holds: 'epochs of the ledger', personal: 'no', kept: 'no limit' },
  windows: { holds: 'windows that were read, with counts', personal: 'no', kept: 'no limit' },
  window_problems: { holds: 'windows that callsync could not read', personal: 'no', kept: 'until resolved' },
  watermarks: { holds: 'progress of continuous sync', personal: 'no', kept: 'no limit' },
  verdicts: {
    holds: 'outcomes of reconciling, with counts and reasons; ids of the first calls that differ',
    personal: 'call ids',
    kept: '`store.verdict_retention`',
  },
  drift: { holds: 'names of unknown fields, counted', personal: 'no', kept: 'no limit' },
  request_limits: { holds: 'times of requests', personal: 'no', kept: 'seconds' },
  events: { holds: 'actions of operators, and changes of version', personal: 'no', kept: '`store.delivery_retention`' },
  notified_conditions: {
    holds: 'conditions that callsync has reported',
    personal: 'no',
    kept: 'until the condition ends',
  },
  notification_messages: { holds: 'messages that are not sent yet', personal: 'no', kept: 'a day at most' },
  counters: { holds: 'numbers of rows', personal: 'no', kept: 'no limit' },
  meta: { holds: 'single values of the store', personal: 'no', kept: 'no limit' },
  migrations: { holds: 'versions that changed the tables', personal: 'no', kept: 'no limit' },
};

const personalOf = (columns: readonly Column[]): StoredData['personal'] => {
  if (columns.some(({ personal }) => personal === undefined)) return 'yes';
  return columns.some(({ personal }) => personal === 'id') ? 'call ids' : 'no';
};

/** Tables of every warehouse; staging tables of BigQuery hold the same rows for at most a day. */
const warehouseTables: Places = Object.fromEntries(
  tables.map((table) => {
    const [holds = ''] = table.description.split(/\.(?: |$)/);
    return [table.name, { holds, personal: personalOf(columnsOf(table)), kept: table.kept ?? withTheCall }];
  }),
);

/** Tables of a PostgreSQL warehouse while it has a search index. */
const searchTables: Places = {
  transcript_search: {
    holds: 'words of transcripts with their positions, where there is a search index in PostgreSQL',
    personal: 'yes',
    kept: 'as the utterances',
  },
};

/** Files beside the store. */
const files: Places = {
  'spool (`webhook.spool.dir`)': {
    holds: 'deliveries while the store is away, as the privacy rules leave them; damaged files',
    personal: 'yes',
    kept: 'until stored; damaged ones `webhook.spool.damaged_retention`',
  },
  'erasure log (`store.erasure_log`)': {
    holds: 'keyed hashes of erased call ids and persons, receipts, legal holds',
    personal: 'keyed',
    kept: 'no limit',
  },
  'Temporal, process log, metrics': {
    holds: 'ranges, counts, error codes',
    personal: 'no',
    kept: 'as you configure them',
  },
};

/** Places by where they are; tables by their names. */
export const storedData = { store, warehouses: { ...warehouseTables, ...searchTables }, files };
