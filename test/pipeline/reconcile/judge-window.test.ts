import { expect, test } from 'vitest';
import { judgeWindow } from '../../../src/pipeline/reconcile/reconcile-window.ts';

type WindowFindings = Parameters<typeof judgeWindow>[0];

const [none, a] = [new Set<string>(), new Set(['a'])];
const clean: WindowFindings = {
  listed: ['a', 'b', 'c'],
  ...{ fresh: none, changed: none, excluded: none, removed: none, unhealed: none },
  ...{ missing: [], different: [], unexpected: [], unfetched: [] },
  ...{ omitted: 0, listingComplete: true, suspicious: false },
};
const counts = { calls_found: 3, missing: 0, different: 0, healed: 0, unexpected: 0, excluded: 0 };

test.each<[string, Partial<WindowFindings>, ReturnType<typeof judgeWindow>]>([
  ['proven when nothing differs', {}, { ...counts, outcome: 'proven' }],
  [
    'healed when what was missing is there now',
    { missing: ['a'], different: ['b'] },
    { ...counts, outcome: 'healed', calls_found: 1, missing: 1, different: 1, healed: 2 },
  ],
  [
    'a call new to the ledger was missing in the warehouse',
    { fresh: a },
    { ...counts, outcome: 'healed', calls_found: 2, missing: 1, healed: 1 },
  ],
  [
    'a call that changed and whose row differed counts once',
    { changed: a, different: ['a'] },
    { ...counts, outcome: 'healed', calls_found: 2, different: 1, healed: 1 },
  ],
  [
    'a call that may be nowhere is neither found nor missing, also when it was unknown before',
    { excluded: new Set(['a', 'b']), fresh: a },
    { ...counts, outcome: 'proven', calls_found: 1, excluded: 2 },
  ],
  [
    'unproven while a warehouse still has the row of a call that may be nowhere',
    { excluded: a, different: ['a'], unhealed: a },
    { ...counts, outcome: 'unproven', calls_found: 2, different: 1 },
  ],
  [
    'healed when unexpected rows were removed',
    { unexpected: ['y', 'z'], removed: new Set(['y', 'z']) },
    { ...counts, outcome: 'healed', unexpected: 2 },
  ],
  [
    'a call that changed and was missing counts once',
    { changed: a, missing: ['a'] },
    { ...counts, outcome: 'healed', calls_found: 2, missing: 1, healed: 1 },
  ],
  [
    'unproven when something still differs',
    { missing: ['a', 'b'], unhealed: a },
    { ...counts, outcome: 'unproven', calls_found: 1, missing: 2, healed: 1 },
  ],
  [
    'unproven when a whole record could not be read',
    { changed: a, unfetched: ['a'] },
    { ...counts, outcome: 'unproven', calls_found: 2, different: 1 },
  ],
  ['unproven when the listing was not shown complete', { listingComplete: false }, { ...counts, outcome: 'unproven' }],
  ['unproven when the listing left out a call that it should name', { omitted: 1 }, { ...counts, outcome: 'unproven' }],
  ['unproven with a unexpected row', { unexpected: ['z'] }, { ...counts, outcome: 'unproven', unexpected: 1 }],
  [
    'suspicious before everything else',
    { suspicious: true, listed: [], missing: ['a'], unhealed: a },
    { ...counts, outcome: 'suspicious_empty', calls_found: 0, missing: 1 },
  ],
])('the verdict on a window: %s', (_, found, expected) => {
  expect(judgeWindow({ ...clean, ...found })).toEqual(expected);
});
