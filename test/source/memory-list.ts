/** A list that answers in memory, without sockets. */
import type { SourceConfigInput } from '../../schemas/config/source.ts';
import type { Memory } from '../../src/lib/evidence.ts';
import { createApi } from '../../src/source/http/api.ts';
import { createServiceClock } from '../../src/source/http/http.ts';
import type { KeptFacts } from '../../src/source/list/facts.ts';
import { createListClient } from '../../src/source/list/list-client.ts';
import { configFor } from './local-server.ts';

/** Status and body of an answer: bytes as they stand, everything else as JSON. */
export type MemoryAnswer = readonly [status: number, body: unknown];

export const openMemoryList = (
  section: Partial<SourceConfigInput>,
  answer: (url: URL) => MemoryAnswer,
  memory?: Memory<KeptFacts>,
) => {
  const config = configFor('https://memory.invalid', section);
  const api = createApi({
    config,
    http: {
      send: async ({ url }) => {
        const [status, said] = answer(url);
        const body = Buffer.isBuffer(said) ? said : Buffer.from(JSON.stringify(said));
        const at = Date.now();
        return { status, headers: { date: new Date(at).toUTCString() }, body, sentAt: at, headAt: at, url };
      },
      spare: { memory: new ArrayBuffer(0) },
      close: async () => undefined,
    },
    tokens: { get: async () => ({ value: 't' }), invalidate: () => undefined } as never,
    limiter: { acquire: async () => 0, penalize: async () => undefined },
    clock: createServiceClock(60_000),
  });
  return createListClient(api, config.list, memory);
};
