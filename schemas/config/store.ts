/** Config section `store:`: the store, always PostgreSQL. */
import { z } from 'zod';
import { a, notBoth, ownPortSchema, postgresUrl, withDefault } from './values.ts';

const { between, duration, list } = withDefault;

export const storeConfigSchema = z
  .strictObject({
    url: postgresUrl.describe('Your own PostgreSQL server; without it, embedded. With a password, prefer `url_file`.'),
    url_file: a.file.describe('File that holds the URL; read again when it changes.'),
    schema: withDefault
      .matching(
        /^(?!pg_)[a-z][a-z0-9]*_[a-z0-9_]{0,50}$|^callsync$/,
        'callsync',
        'takes small letters, digits and at least one underscore, such as north_store',
      )
      .describe('Schema of the store’s tables. Two installations in one database need different ones.'),
    data_dir: a.file.describe(
      'Folder of the embedded servers (PostgreSQL, Temporal), spool, keys and logs. Default: /var/lib/callsync as root, else ~/.local/share/callsync.',
    ),
    port: ownPortSchema('the embedded PostgreSQL'),
    proof_key_file: a.file.describe(
      'File with the key of the proof chain, at least 16 bytes; every worker needs the same. Default: `proof.key` in `data_dir`, made at the first start. Keep it outside the store. Anyone with access to both can rewrite verdicts.',
    ),
    former_proof_key_files: list(z.string().min(1)).describe('Files with former keys, which verify old verdicts.'),
    proof_heads_file: a.file.describe(
      'File outside the store with the newest entry of each chain of verdicts. The file shows whether the end of a chain was cut off. Default: `proof-heads.json` in `data_dir`.',
    ),
    pool_size: between(2, 200, 10).describe('Most connections of one process to the store.'),
    inbox_retention: duration('7d').describe('Retention of rejected deliveries, and of bytes of folded deliveries.'),
    tombstone_key_file: a.file.describe(
      'File with the key that recognises erased calls, at least 16 bytes. Every worker needs the same key, permanently. Default: `tombstone.key` in `data_dir`, made at the first start. Keep it, and a copy of it, outside the store and its backups.',
    ),
    erasure_log: a.file.describe(
      'File outside store and warehouses with the keyed hashes of each erasure. callsync replays it after a restore. Every worker needs the same file. Default: `erasures.log` in `data_dir`.',
    ),
    delivery_retention: duration('400d').describe('Retention of outcomes. A body that comes again later is new.'),
    quarantine_retention: duration('90d').describe(
      'How long records wait in quarantine for a replay. After this time, callsync deletes records whose call came in since, except under a legal hold. Other records stay.',
    ),
    frame_retention: duration('30d').describe('How long to keep WebSocket frames of `callsync frames`.'),
    load_retention: duration('30d').describe('Retention of stored loads; the newest 2,000 of each warehouse stay.'),
    verdict_retention: duration('1100d').describe(
      'How long to keep verdicts, in the store and in the warehouses; the store keeps the newest of each warehouse. A day without a younger verdict is no longer proven.',
    ),
    warehouse_log_retention: duration('1100d').describe(
      'Retention of `deliveries` and `loads` in warehouses, which always keep the newest 4,000 loads.',
    ),
  })
  .refine(...notBoth('url'))
  .describe('Store: inbox, ledger, windows, quarantine, loads, verdicts. Always PostgreSQL.');
