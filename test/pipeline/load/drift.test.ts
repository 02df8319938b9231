import { afterEach, expect, test } from 'vitest';
import type { Observation } from '../../../schemas/observation.ts';
import { sampleCall } from '../../../src/cli/commands/webhook/sample-call.ts';
import { JsonRecord } from '../../../src/lib/json-record.ts';
import type { IngestDeps } from '../../../src/pipeline/deps.ts';
import { listAgents } from '../../../src/store/delivery/delivery-statistics.ts';
import { createDriftWatch, listDrift } from '../../../src/store/status/drift.ts';
import { inheritedNames, withInheritedNames } from '../../support/inherited-names.ts';
import { deliver, observationOf, usePipeline } from '../../support/pipeline.ts';

const pipeline = usePipeline();
afterEach(() => pipeline.store.pool.query("DELETE FROM meta WHERE key LIKE 'fields:%'"));

const watching = (): IngestDeps => ({ ...pipeline.deps, drift: createDriftWatch(pipeline.store, pipeline.deps.log) });
const calls = (from: number, to: number, more: object = {}): Observation[] =>
  Array.from({ length: to - from }, (_, index) => {
    const record = { ...sampleCall(`call-${from + index}`), ...more };
    return observationOf(`call-${from + index}`, 1_700_000_000_000_000 + index, record as never);
  });
const known = async () =>
  (await listDrift(pipeline.store)).map(({ source, kind, field, seen }) => `${source} ${kind} ${field} ${seen}`);

/** Longer than a key of an index. */
const long = Array.from({ length: 250 }, () => crypto.randomUUID()).join('');

test('drift says nothing of records as the interface shows them', async () => {
  const deps = watching();
  for (const _ of ['new', 'known']) await pipeline.fold(calls(0, 50), deps);
  expect(await known()).toEqual([]);
});

test('drift: records of an unknown shape land, and are reported at once, whatever their field names', async () => {
  const record = { sentiment: 'good', duration: 12, 'n\0l': 1, [long]: 1, ...withInheritedNames(1) };
  expect((await pipeline.fold(calls(0, 3, record), watching())).changed).toHaveLength(3);
  const unknown = ['sentiment', 'n\ufffdl', long.slice(0, 512), ...inheritedNames].map((name) => `new ${name}`);
  expect((await known()).sort()).toEqual(['type duration', ...unknown].map((one) => `list ${one} 3`).sort());
  expect(JSON.stringify(await listDrift(pipeline.store))).not.toContain('good');
});

test('drift: what privacy rules take away is not reported: drift sees what is stored', async () => {
  const sanitize = ({ fields, ...rest }: Observation): Observation => {
    const { martin: _, ...others } = fields.held;
    return { ...rest, fields: new JsonRecord(others) };
  };
  await pipeline.fold(calls(0, 3, { martin: 'called twice', sentiment: 'good' }), { ...watching(), sanitize });
  expect(await known()).toEqual(['list new sentiment 3']);
});

test('drift: a field that vanishes is reported by another process too, with the time of the first miss', async () => {
  await pipeline.fold(calls(0, 40), watching());
  await pipeline.fold(calls(40, 80, { tags: undefined }), watching());
  expect(await known()).toEqual(['list vanished tags 40']);
});

test('drift: one delivery after the other, and fields that the list sends empty', async () => {
  const deps = watching();
  for (const index of [1, 2]) await pipeline.send([{ ...sampleCall(`call-${index}`), odd: 1 }], deps);
  await deps.drift?.seeWindow({ uncarried: { [long]: 7 }, repeated: 0, conflicting: 0 });
  await deps.drift?.seeWindow({ uncarried: { [long]: 2 }, repeated: 3, conflicting: 0 });
  expect((await known())[0]).toBe(`list uncarried ${long.slice(0, 512)} 9`);
  expect((await known()).slice(1)).toEqual(['list repeated unique_id 3', 'webhook new odd 1']);
  await deps.drift?.seeWindow({ uncarried: {}, repeated: 0, conflicting: 2 });
  const twice = { kind: 'repeated', detail: expect.stringContaining('with other content'), seen: 5 };
  expect(await listDrift(pipeline.store)).toContainEqual(expect.objectContaining(twice));
});

test('drift: a store that cannot take it holds nothing up', async () => {
  const drift = createDriftWatch({ query: () => Promise.reject(new Error('away')) } as never, pipeline.deps.log);
  expect((await pipeline.fold(calls(0, 2, { odd: 1 }), { ...pipeline.deps, drift })).changed).toHaveLength(2);
  expect(pipeline.logged.at(-1)?.event).toBe('drift could not be recorded');
});

test('drift: a new version of the delivering agent stands out', async () => {
  await deliver(pipeline.store, [{ body: { a: 1 }, receivedAt: new Date('2024-01-01T00:00:00Z') }, { body: { a: 2 } }]);
  const first = { agent: 'Service-Webhook/1.0', isNew: false };
  expect(await listAgents(pipeline.store)).toMatchObject([{ ...first, deliveries: 2 }]);
  await pipeline.query(`UPDATE inbox SET agent = 'Service-Webhook/2.0' WHERE received_at > '2024-06-01'`);
  const second = { agent: 'Service-Webhook/2.0', deliveries: 1, isNew: true };
  expect(await listAgents(pipeline.store)).toMatchObject([second, first]);
});
