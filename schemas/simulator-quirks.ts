/** What the simulated call list may do although no interface mentions it: each was seen, or is likely, in a real service. */
import { z } from 'zod';

const share = z.number().min(0).max(1);

const poisonSchema = z.object({
  record: z.number().int().min(0).describe('Index of the call, in the order of call times.'),
  kind: z.enum(['error_500', 'broken_json']).describe('What every answer with this record is.'),
  light: z.boolean().default(true).describe('Answers without transcripts fail too.'),
  single: z.boolean().default(true).describe('The single call fails too.'),
});

export const quirksSchema = z.object({
  doubledShare: share.default(0).describe('Calls that the list names twice in a row and counts twice.'),
  countLagSeconds: z.number().min(0).default(0).describe('Totals tell what the list held so many seconds ago.'),
  replicaLateSeconds: z
    .number()
    .min(0)
    .default(0)
    .describe('Every second request is answered by a replica that is so many seconds late.'),
  listDelayMs: z.number().min(0).default(0).describe('Time before each answer of the list, such as for counting.'),
  hollow: z
    .array(z.string().min(1))
    .default([])
    .describe('Fields of the list that keep their outline and lose their content, such as {callData: [], meta: {}}.'),
  poison: z.array(poisonSchema).default([]).describe('Records with which no answer succeeds.'),
});
