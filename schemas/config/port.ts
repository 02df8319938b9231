import { z } from 'zod';

/** The port of a server that callsync starts itself. */
export const ownPortSchema = (server: string) =>
  z.number().int().min(0).max(65_535).default(0).describe(`Port of ${server}; 0 = the one used last, or any free one.`);
