/**
 * The winner of two observations of one instant and source does not depend on the rules that have changed them since.
 */
import { expect, test } from 'vitest';
import type { Observation } from '../../schemas/observation.ts';
import { emptyRow, fold, foldRules, type LedgerRow, prepareObservation } from '../../src/calls/fold.ts';
import type { Privacy } from '../../src/privacy/privacy.ts';
import { openPrivacy } from '../support/rotated-keys.ts';

const open = (settings: object) => openPrivacy({ profile: 'pseudonymous', ...settings });
const older = open({ disabled_detectors: ['email'] });
const newer = open({});

const twins = Array.from({ length: 20 }, (_, index) =>
  ['a', 'b'].map(
    (name): Observation => ({
      callId: 'c',
      source: 'poll',
      observedAt: 1,
      fields: { unique_id: 'c', visit: { who: name, mail: `${name}${index}@example.fr` } },
    }),
  ),
);

/** As a worker folds it: what is stored comes under its own rules first. */
const foldUnder = (row: LedgerRow, observation: Observation, { sanitize, version }: Privacy): LedgerRow => {
  const brought = row.revision === 0 ? row : foldRules(row, sanitize, version);
  return { ...fold(brought, prepareObservation(sanitize(observation))), rules: version };
};
const winnerOf = (first: Observation, under: Privacy, second: Observation, later: Privacy): unknown => {
  const { document } = foldUnder(foldUnder(emptyRow('c'), first, under), second, later);
  return (document?.visit as { readonly who: string } | undefined)?.who;
};

test('polled: older and newer workers choose alike, in any order', () => {
  const winners = twins.map((pair) => {
    const [a, b] = pair as [Observation, Observation];
    const chosen = [
      winnerOf(a, older, b, older),
      winnerOf(b, newer, a, newer),
      winnerOf(a, older, b, newer),
      winnerOf(b, newer, a, older),
      winnerOf(b, older, a, newer),
    ];
    expect(new Set(chosen).size).toBe(1);
    return chosen[0];
  });
  expect(new Set(winners).size).toBe(2);
});

test('delivered: the hash of the raw bytes decides, however the body was admitted', () => {
  for (const pair of twins) {
    const raw = pair.map((one) => Buffer.from(JSON.stringify(one.fields)));
    const deliver = (rules: Privacy): [Observation, Observation] =>
      raw.map((bytes): Observation => {
        const { body, bodyHash } = rules.admit(bytes);
        return {
          callId: 'c',
          source: 'webhook',
          observedAt: 1,
          fields: JSON.parse(body.toString()),
          rawHash: bodyHash,
        };
      }) as [Observation, Observation];
    const [[a, b], [c, d]] = [deliver(older), deliver(newer)];
    const chosen = [winnerOf(a, older, b, older), winnerOf(c, newer, d, newer), winnerOf(b, newer, c, newer)];
    expect(new Set(chosen).size).toBe(1);
  }
});

test('of a value without rules no hash stays once rules have acted on it', () => {
  const [raw] = twins[0] as [Observation];
  const before = fold(emptyRow('c'), prepareObservation(raw));
  const after = foldRules(before, newer.sanitize, newer.version);
  expect(after.versions.visit?.[2].slice(0, 8)).not.toBe(before.versions.visit?.[2].slice(0, 8));
});
