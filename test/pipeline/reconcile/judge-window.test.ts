import { expect, test } from 'vitest';
import { isOftenRejected, judgeWindow } from '../../../src/pipeline/reconcile/reconcile-window.ts';

type WindowFindings = Parameters<typeof judgeWindow>[0];

const [none, a] = [new Set<string>(), new Set(['a'])];
const clean: WindowFindings = {
  listed: ['a', 'b', 'c'],
  ...{ fresh: none, changed: none, excluded: none, removed: none, unhealed: none },
  ...{ missing: [], different: [], unexpected: [], unfetched: [] },
  ...{ omitted: 0, listingComplete: true, suspicious: false },
};

/** The outcome, and how the counts differ from those of a window in which nothing differs. */
const tell = ({ outcome, ...counts }: ReturnType<typeof judgeWindow>): string =>
  [outcome, ...Object.entries(counts).filter(([name, n]) => n !== (name === 'calls_found' ? 3 : 0))]
    .flat()
    .join(' ')
    .replace('calls_', '');

const nowhere = { excluded: new Set(['a', 'b']), fresh: a };
const still = { excluded: a, different: ['a'], unhealed: a };
const suspicious = { suspicious: true, listed: [], missing: ['a'], unhealed: a };

test.each<[string, Partial<WindowFindings>, string]>([
  ['nothing differs', {}, 'proven'],
  ['what was missing is there', { missing: ['a'], different: ['b'] }, 'healed found 1 missing 1 different 1 healed 2'],
  ['a call new to the ledger was missing in the warehouse', { fresh: a }, 'healed found 2 missing 1 healed 1'],
  ['a changed, different call counts once', { changed: a, different: ['a'] }, 'healed found 2 different 1 healed 1'],
  ['a call that may be nowhere is neither found nor missing, known or not', nowhere, 'proven found 1 excluded 2'],
  ['a warehouse still has the row of a call that may be nowhere', still, 'unproven found 2 different 1'],
  ['unexpected rows were removed', { unexpected: ['y', 'z'], removed: new Set(['y', 'z']) }, 'healed unexpected 2'],
  ['a changed call that was missing counts once', { changed: a, missing: ['a'] }, 'healed found 2 missing 1 healed 1'],
  ['something still differs', { missing: ['a', 'b'], unhealed: a }, 'unproven found 1 missing 2 healed 1'],
  ['a whole record could not be read', { changed: a, unfetched: ['a'] }, 'unproven found 2 different 1'],
  ['the listing was not shown complete', { listingComplete: false }, 'unproven'],
  ['the listing left out a call that it should name', { omitted: 1 }, 'unproven'],
  ['an unexpected row', { unexpected: ['z'] }, 'unproven unexpected 1'],
  ['suspicious before everything else', suspicious, 'suspicious_empty found 0 missing 1'],
])('the verdict on a window: %s', (_, found, expected) => {
  expect(tell(judgeWindow({ ...clean, ...found }))).toBe(expected);
});

test('a single record that is no call waits in quarantine; more than a hundredth keep the proof', () => {
  const counts = [1, 2, 2, 3].map((rejected, at) => ({ rejected, calls: at < 2 ? 0 : 200 }));
  expect(counts.map(isOftenRejected)).toEqual([false, true, false, true]);
});
