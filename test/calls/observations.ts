/** Arbitrary observations of one call: few values and few times, so that ties, equal values and collisions are common. */
import fc from 'fast-check';
import type { CallDocument } from '../../schemas/call.ts';
import type { Observation, ObservationSource } from '../../schemas/observation.ts';
import { observeRecord } from '../../src/source/list/observe.ts';
import { inheritedNames, withInheritedNames } from '../support/inherited-names.ts';

/** The same value with the keys of its objects in another order. */
const reorder = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reorder);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reorder(item)]),
  );
};

const varied = (...values: unknown[]) =>
  fc.tuple(fc.constantFrom(...values), fc.boolean()).map(([value, turn]) => (turn ? reorder(value) : value));

const transcript = (content: string) => ({
  callData: [
    {
      from: 'out',
      content,
      datetime: 0.5,
      duration: 2,
      words: [{ value: content, start: 0.5, length: 1, score: 0.9 }],
    },
    { from: 'in', content: 'yes', datetime: 3, words: [] },
  ],
  callUniqueId: '',
  meta: { lang: 'fr', obfuscated: 'true', ivr_end: 1.5 },
});

const fieldValues: Record<string, fc.Arbitrary<unknown>> = {
  timestamp: varied('2023-12-04T15:18:29Z', '2023-12-05T00:00:00+02:00', 'yesterday', null),
  status: varied('qualified', 'void', '', null),
  duration: varied('123', '124.5', 7, ''),
  campaign: varied('a', 'b', null),
  transcript_json: varied(transcript('bonjour'), transcript('au revoir'), null, {}),
  metadata: varied(
    { ClientID: '1', Agent: 'x', UDF_num_01: '5', UDF_text_02: 'b' },
    { ClientID: '1', Agent: 'y', UDF_num_01: 'n/a' },
    { Nested: { b: 1, a: [{ d: 1, c: 2 }] }, Agent: 'x' },
    withInheritedNames('x'),
    {},
    null,
  ),
  tags: varied([{ unique_id: 't1', display_name: 'One', confidence: 0.5, type: 'bool', value: true }], [], null),
  in: varied({ label: null, data: '+33 1 23', type: 'PHONE' }, { label: 'A', data: '0033123', type: 'PHONE' }, null),
  visit: varied({ source: 'ad', pages: 3 }, { pages: 3, source: 'ad', more: { y: 1, x: 2 } }, null),
  qualified: varied('2023-12-04T16:00:00Z', '2023-12-04T16:00:00.5Z'),
  'dirty\0name': varied(1, 2),
  unknown: varied([1, 'x'], 1e308, { b: 1, a: 2 }),
};
const anyField = [
  ...Object.entries(fieldValues),
  ...inheritedNames.map((name) => [name, varied('built', { b: 1, a: 2 })] as const),
];

const sources: readonly ObservationSource[] = ['import', 'webhook', 'poll'];

/** Fields that the simulated list carries, so that null from it is content. */
const carries: ReadonlySet<string> = new Set(['status', 'tags', 'visit']);

/** Built from pairs, as JSON.parse does it, so that `__proto__` is a field. */
const recordOf = (callId: string, fields: CallDocument): CallDocument =>
  Object.fromEntries([['unique_id', callId], ...Object.entries(fields)]);

const anyObservation = (callId: string): fc.Arbitrary<Observation> =>
  fc
    .record({
      source: fc.constantFrom(...sources),
      observedAt: fc.integer({ min: 0, max: 4 }).map((n) => 1_700_000_000_000_000 + n * 500_000),
      fields: fc.tuple(
        ...anyField.map(([name, value]) =>
          fc.option(
            value.map((one) => [name, one] as const),
            { nil: undefined, freq: 2 },
          ),
        ),
      ),
    })
    .map(({ source, observedAt, fields }) => {
      const record = recordOf(callId, Object.fromEntries(fields.filter((field) => field !== undefined)));
      if (source !== 'poll') return { callId, source, observedAt, fields: record };
      const observed = observeRecord(record, { observedAt, carries });
      if (observed.kind === 'rejected') throw new Error(observed.reason);
      return observed.observation;
    });

/** Observations and an order in which they arrive, some of them more than once. */
export const observationsInOrders = (callId: string, orders = 2) =>
  fc.array(anyObservation(callId), { minLength: 1, maxLength: 7 }).chain((observations) =>
    fc.record({
      observations: fc.constant(observations),
      arrivals: fc.array(
        fc
          .tuple(
            fc.shuffledSubarray(observations, { minLength: observations.length }),
            fc.array(fc.constantFrom(...observations), { maxLength: 5 }),
            fc.infiniteStream(fc.nat()),
          )
          .map(([all, again, positions]) => {
            const arrival = [...all];
            for (const observation of again)
              arrival.splice((positions.next().value as number) % (arrival.length + 1), 0, observation);
            return arrival;
          }),
        { minLength: orders, maxLength: orders },
      ),
    }),
  );
