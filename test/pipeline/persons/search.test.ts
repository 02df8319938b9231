/** The search after an erasure: a receipt is signed when nothing of the person is left anywhere, and says what only others can look into. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PersonRequest } from '../../../src/persons/request.ts';
import { mergeInbox } from '../../../src/pipeline/load/merge-inbox.ts';
import { beginErasure, finishErasure } from '../../../src/pipeline/persons/erase.ts';
import { mean, openTestProof } from '../../support/persons.ts';
import { deliver, openPipeline, type Pipeline } from '../../support/pipeline.ts';

const proof = openTestProof();
let pipeline: Pipeline;
beforeAll(async () => {
  pipeline = await openPipeline({ documents: true });
  await pipeline.warehouse.search.create();
});
afterAll(async () => {
  rmSync(proof.headsFile, { force: true });
  await pipeline.close();
});

const send = async (...bodies: readonly object[]): Promise<void> => {
  await deliver(
    pipeline.store,
    bodies.map((body) => ({ body: JSON.stringify(body), deliveryId: randomUUID() })),
  );
  while ((await mergeInbox(pipeline.deps)).more);
};
const begin = (request: PersonRequest): Promise<string> =>
  beginErasure(pipeline.deps, mean(request), { keepOut: false, exceptHeld: false });
const finish = (requestId: string) => finishErasure({ ...pipeline.deps, proof }, requestId, { load: true });

test.each(['utterances', 'contacts', 'changes', 'transcript_search'])(
  'a row of an erased call in the warehouse’s table %s keeps the receipt back',
  async (table) => {
    const id = `left-in-${table}`;
    const call = {
      timestamp: '2025-03-01T10:00:00Z',
      in: { data: '0611223344' },
      transcript_json: { callData: [{ from: 'in', content: 'bonjour' }], meta: { lang: 'fr' } },
    };
    await send({ unique_id: id, ...call }, { unique_id: 'other', ...call });
    await pipeline.drain();
    await send({ unique_id: 'other', ...call, status: table });
    const requestId = await begin({ kind: 'call', values: [id] });
    await pipeline.drain();
    // The tombstone is there: nothing but a search for rows finds it.
    const { pool } = pipeline.store;
    await pool.query(
      `INSERT INTO wh_main.${table} SELECT (jsonb_populate_record(t, jsonb_build_object('call_id', $1::text))).* FROM wh_main.${table} t
        WHERE call_id = 'other' LIMIT 1`,
      [id],
    );
    expect(await finish(requestId)).toEqual({ waiting: ['main'], receipt: undefined });
    await pool.query(`DELETE FROM wh_main.${table} WHERE call_id = $1`, [id]);
    const { receipt } = await finish(requestId);
    expect(receipt?.found?.warehouses).toEqual([{ name: 'main', erased: 1, waiting: 0, rows: 0 }]);
  },
);

test('a delivery that named the person goes, also when its call names somebody else by now', async () => {
  const first = { unique_id: 'moved-on', timestamp: '2025-03-01T10:00:00Z', in: { data: '0655443322' } };
  await send(first);
  await send({ ...first, in: { data: '0655443399' }, status: 'corrected' });
  const { receipt } = await finish(await begin({ kind: 'phone', values: ['06 55 44 33 22'] }));
  expect(receipt).toMatchObject({ calls: 0, purged: { inbox: 1 } });
  const bodies = await pipeline.store.query<{ text: string }>(
    `SELECT convert_from(body, 'UTF8') AS text FROM inbox WHERE body IS NOT NULL AND call_id = 'moved-on'`,
  );
  expect(bodies.map(({ text }) => text)).toEqual([expect.stringContaining('0655443399')]);
});
