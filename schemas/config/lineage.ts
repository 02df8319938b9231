/** Config section `lineage:`: OpenLineage events of loads. */
import { z } from 'zod';

export const lineageConfigSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('Whole address that takes the events, such as https://lineage.example.com/api/v1/lineage; none = off.'),
    token_file: z.string().min(1).optional().describe('File of a token that goes along (Authorization: Bearer …).'),
    namespace: z.string().min(1).default('callsync').describe('Namespace of the jobs in the events.'),
  })
  .describe('OpenLineage events of loads, by HTTP. No load waits for them, and none fails with them.');
