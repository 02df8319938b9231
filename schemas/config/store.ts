/** Config section `store:`: the store, always PostgreSQL. */
import { z } from 'zod';
import { durationSchema, ownPortSchema } from './values.ts';

export const storeConfigSchema = z
  .strictObject({
    url: z
      .string()
      .regex(/^postgres(ql)?:\/\//, { error: 'must look like postgres://user:password@host:port/database' })
      .optional()
      .describe(
        'PostgreSQL server of your own. Without it, callsync starts an embedded server. With a password, prefer `url_file`.',
      ),
    url_file: z.string().min(1).optional().describe('File that holds the URL; read again when it changes.'),
    schema: z
      .string()
      .regex(/^(?!pg_)[a-z][a-z0-9]*_[a-z0-9_]{0,50}$|^callsync$/, {
        error: 'takes small letters, digits and at least one underscore, such as north_store',
      })
      .default('callsync')
      .describe('Schema of the store’s tables. Two installations in one database need different ones.'),
    data_dir: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Folder of the embedded servers (PostgreSQL, Temporal), spool, keys and logs. Default: /var/lib/callsync as root, else ~/.local/share/callsync.',
      ),
    port: ownPortSchema('the embedded PostgreSQL'),
    proof_key_file: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File with the key of the proof chain, at least 16 bytes; every worker needs the same. Default: `proof.key` in `data_dir`, made at the first start. Keep it outside the store. Anyone with access to both can rewrite verdicts.',
      ),
    former_proof_key_files: z
      .array(z.string().min(1))
      .default([])
      .describe('Files with former keys of the proof chain, which still verify their old verdicts.'),
    proof_heads_file: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File outside the store with the newest entry of each chain of verdicts. The file shows whether the end of a chain was cut off. Default: `proof-heads.json` in `data_dir`.',
      ),
    pool_size: z.number().int().min(2).max(200).default(10).describe('Most connections of one process to the store.'),
    inbox_retention: durationSchema
      .prefault('7d')
      .describe('How long to keep raw bytes of folded deliveries for replay, and rejected deliveries.'),
    tombstone_key_file: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File with the key that recognises erased calls, at least 16 bytes. Every worker needs the same key, permanently. Default: `tombstone.key` in `data_dir`, made at the first start. Keep it, and a copy of it, outside the store and its backups.',
      ),
    erasure_log: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File outside store and warehouses with the keyed hashes of each erasure. callsync replays it after a restore. Every worker needs the same file. Default: `erasures.log` in `data_dir`.',
      ),
    delivery_retention: durationSchema
      .prefault('400d')
      .describe('How long to keep each delivery’s outcome. A body that comes again after this time counts as new.'),
    quarantine_retention: durationSchema
      .prefault('90d')
      .describe(
        'How long records wait in quarantine for a replay. After this time, callsync deletes records whose call came in since, except under a legal hold. Other records stay.',
      ),
    frame_retention: durationSchema.prefault('30d').describe('How long to keep WebSocket frames of `callsync frames`.'),
    load_retention: durationSchema
      .prefault('30d')
      .describe('Retention of loads in the store, which always keeps the newest 2,000 of each warehouse.'),
    verdict_retention: durationSchema
      .prefault('1100d')
      .describe(
        'How long to keep verdicts, in the store and in the warehouses. A day without a younger verdict is no longer proven.',
      ),
    warehouse_log_retention: durationSchema
      .prefault('1100d')
      .describe('Retention of `deliveries` and `loads` in warehouses, which always keep the newest 4,000 loads.'),
  })
  .refine((store) => store.url === undefined || store.url_file === undefined, {
    error: 'takes `url` or `url_file`, not both',
  })
  .describe('Store: inbox, ledger, windows, quarantine, loads, verdicts. Always PostgreSQL.');
