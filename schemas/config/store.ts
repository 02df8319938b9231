/** Config section `store:`: the operational store, always PostgreSQL. */
import { z } from 'zod';
import { durationSchema, ownPortSchema } from './values.ts';

export const storeConfigSchema = z
  .strictObject({
    url: z
      .string()
      .regex(/^postgres(ql)?:\/\//, { error: 'must look like postgres://user:password@host:port/database' })
      .optional()
      .describe(
        'PostgreSQL server of your own; without it, an embedded one is started. With a password, prefer `url_file`.',
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
        'Folder of everything embedded (PostgreSQL, Temporal); kept between runs. Default: /var/lib/callsync as root, else ~/.local/share/callsync.',
      ),
    port: ownPortSchema('the embedded PostgreSQL'),
    proof_key_file: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File with the key of the proof chain, at least 16 bytes; every worker needs the same. Default: `proof.key` in `data_dir`, made at the first start. Keep it outside the store: verdicts can be rewritten with access to both.',
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
        'File outside the store that holds the newest entry of each chain of verdicts, so that a cut-off tail is seen. Default: `proof-heads.json` in `data_dir`.',
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
        'File with the key under which erased calls stay known, at least 16 bytes; every worker needs the same, for good. Default: `tombstone.key` in `data_dir`, made at the first start. Keep it, and a copy of it, outside the store and its backups.',
      ),
    erasure_log: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File outside store and warehouses to which each erasure is added, as keyed hashes: it is replayed when one of them was restored. Every worker needs the same file. Default: `erasures.log` in `data_dir`.',
      ),
    delivery_retention: durationSchema
      .prefault('400d')
      .describe('How long to keep each delivery’s outcome. A body that comes again later counts as new.'),
    quarantine_retention: durationSchema
      .prefault('90d')
      .describe(
        'How long records wait in quarantine for a replay. Then callsync deletes records whose call came in since and that no legal hold names; others wait on.',
      ),
    frame_retention: durationSchema.prefault('30d').describe('How long to keep WebSocket frames of `callsync frames`.'),
    load_retention: durationSchema
      .prefault('30d')
      .describe('Retention of loads in the store. It always keeps the newest 2,000 of each warehouse.'),
    verdict_retention: durationSchema
      .prefault('1100d')
      .describe(
        'How long to keep verdicts, in the store and in the warehouses. A day without a younger verdict is no longer proven.',
      ),
    warehouse_log_retention: durationSchema
      .prefault('1100d')
      .describe('Retention of `deliveries` and `loads` in warehouses. They always keep the newest 4,000 loads.'),
  })
  .refine((store) => store.url === undefined || store.url_file === undefined, {
    error: 'takes `url` or `url_file`, not both',
  })
  .describe('Operational store: inbox, ledger, windows, quarantine, loads, verdicts. Always PostgreSQL.');
