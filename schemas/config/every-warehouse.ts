/** Settings that every kind of warehouse has. */
import { z } from 'zod';

export const everyWarehouse = {
  documents: z
    .boolean()
    .default(false)
    .describe('Also keep the full folded document of each call in a table of its own.'),
  marts: z
    .boolean()
    .default(true)
    .describe('Create the marts: views for analysts, in a schema or dataset of their own.'),
  marts_schema: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/)
    .optional()
    .describe('Schema or dataset of the marts; by default that of the tables, followed by _marts.'),
};
