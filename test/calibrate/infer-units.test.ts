import { expect, test } from 'vitest';
import type { CallDocument } from '../../schemas/call.ts';
import { type UnitField, unitFields } from '../../schemas/config/analytics.ts';
import { flattenCall } from '../../src/calls/flatten.ts';
import { inferUnits, sampleCall } from '../../src/marts/calibrate.ts';
import { randomStream } from '../../src/simulator/calls/random.ts';

type SampledCall = ReturnType<typeof sampleCall>;

type Units = Readonly<Record<UnitField, 1 | 1000>>;

const randomUnits = (random: () => number): Units =>
  Object.fromEntries(unitFields.map((field) => [field, random() < 0.5 ? 1 : 1000])) as Units;

/** A service: how fast people talk, how long they pause, how its words are cut, and a unit for each field. */
const generateService = (seed: number, calls = 40, unitsOfCall?: (random: () => number) => Units) => {
  const random = randomStream(seed * 7919);
  const service = randomUnits(random);
  const letters = seed % 4 === 0 ? 1.5 : 3 + random() * 5;
  const rate = seed % 4 === 0 ? 5 : 9 + random() * 14;
  const pause = random() * 6;
  const made = Array.from({ length: calls }, (): SampledCall => {
    const units = unitsOfCall?.(random) ?? service;
    let at = 1 + random() * 40;
    const ivrEnd = at * (0.5 + random() / 2);
    const utterances = Array.from({ length: 2 + Math.floor(random() * 40) }, () => {
      const start = at;
      const words = Array.from({ length: 1 + Math.floor(random() * 20) }, () => {
        const characters = Math.max(1, Math.round(letters * (0.5 + random())));
        const length = characters / rate;
        const word = { start: at * units.word_start, length: length * units.word_length, characters };
        at += length + random() * 0.1;
        return word;
      });
      const characters = words.reduce((sum, word) => sum + word.characters + 1, -1);
      const length = (at - start) * units.utterance_duration;
      at += random() * pause;
      return { start: start * units.utterance_start, length, characters, words };
    });
    return { duration: (at + random() * 30) * units.call_duration, ivrEnd: ivrEnd * units.ivr_end, utterances };
  });
  return { calls: made, units: service };
};

const unitsFound = (calls: readonly SampledCall[]) =>
  Object.fromEntries(inferUnits(calls).map(({ field, unit }) => [field, unit]));

test.each(Array.from({ length: 8 }, (_, index) => index + 1))('units of fields are told of service %i', (seed) => {
  const { calls, units } = generateService(seed);
  const told = unitFields.map((field) => [field, units[field] === 1 ? 'seconds' : 'milliseconds']);
  expect(unitsFound(calls)).toEqual(Object.fromEntries(told));
  for (const { confidence } of inferUnits(calls)) expect(confidence).toBeGreaterThan(0.8);
});

test.each([
  ['a service without transcripts', generateService(21).calls.map((call) => ({ ...call, utterances: [] }))],
  ['units that change from call to call', generateService(22, 60, randomUnits).calls],
  ['three calls', generateService(23, 3).calls],
])('units of fields cannot be told of %s', (_, calls) => {
  expect(unitsFound(calls)).toEqual(Object.fromEntries(unitFields.map((field) => [field, 'cannot tell'])));
});

test('a document of any shape is sampled without a fault', () => {
  const sampleOf = (document: CallDocument) =>
    sampleCall(flattenCall({ callId: 'c', document, firstSeenAt: null, changedAt: null, sourceDeletedAt: null }).rows);
  const expected = { duration: 12.5, ivrEnd: null, utterances: [] };
  expect(sampleOf({ duration: '12.5', transcript_json: null })).toEqual(expected);
  const words = [{ start: '1', length: 2, value: 'bon' }, 8];
  const callData = [7, { words: 'no', datetime: '4', content: 'abc' }, { words }];
  const none = { start: null, length: null, characters: 0, words: [] };
  const utterances = sampleOf({ duration: 'long', ivr_end: 3, transcript_json: { callData } });
  expect(utterances).toMatchObject({ duration: null, ivrEnd: 3 });
  expect(utterances.utterances.slice(0, 2)).toEqual([none, { ...none, start: 4, characters: 3 }]);
  expect(utterances.utterances[2]?.words[0]).toEqual({ start: 1, length: 2, characters: 3 });
});
