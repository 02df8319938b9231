import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contains, splitWindow, tightBounds, type Window, wideBounds } from '../../src/source/list/list-query.ts';

const day = 86_400_000_000;
const base = Date.UTC(2024, 6, 1) * 1000;
const windows = fc
  .tuple(fc.integer({ min: 0, max: 400 * day }), fc.integer({ min: 1, max: 30 * day }))
  .map(([from, length]): Window => ({ axis: 'timestamp', from: base + from, to: base + from + length }));
const steps = fc.constantFrom(1_000, 1_000_000, 60_000_000);

/**
 * Every instant of the whole is in exactly one piece. Pieces come in order and without gaps, so that an instant can be in
 * the piece of its border or in one beside it.
 */
const holdsOnce = (whole: Window, pieces: readonly Window[]): void => {
  const outOfOrder = pieces.filter((piece, at) => piece.from !== (pieces[at - 1]?.to ?? whole.from));
  const wrong = pieces.flatMap((piece, at) => {
    const near = pieces.slice(Math.max(0, at - 1), at + 2);
    return [piece.from - 1, piece.from, piece.from + 1, piece.to - 1, piece.to].filter(
      (instant) => near.filter((one) => contains(one, instant)).length !== (contains(whole, instant) ? 1 : 0),
    );
  });
  const middle = Math.floor((whole.from + whole.to) / 2);
  expect({ outOfOrder, wrong, middle: pieces.filter((piece) => contains(piece, middle)).length }).toEqual({
    outOfOrder: [],
    wrong: [],
    middle: 1,
  });
};

describe('windows', () => {
  test('splits so that every instant lies in exactly one piece', () => {
    fc.assert(
      fc.property(windows, fc.integer({ min: 1, max: 64 }), steps, (whole, parts, step) => {
        const pieces = splitWindow(whole, parts, step);
        expect(pieces.length).toBeLessThanOrEqual(parts);
        holdsOnce(whole, pieces);
        expect(pieces.slice(1).filter((piece) => piece.from % step !== 0)).toEqual([]);
      }),
      { numRuns: 700 },
    );
  });

  test('asks for at least the window, whatever the bounds mean', () => {
    fc.assert(
      fc.property(
        windows,
        steps,
        fc.boolean(),
        fc.boolean(),
        fc.nat(10_000_000),
        (whole, step, fromInclusive, toInclusive, at) => {
          const instant = whole.from + (at % (whole.to - whole.from));
          const { from, to } = wideBounds(whole, { step, fromInclusive, toInclusive });
          expect(fromInclusive ? instant >= from : instant > from).toBe(true);
          expect(toInclusive ? instant <= to : instant < to).toBe(true);
        },
      ),
      { numRuns: 700 },
    );
  });

  test('asks for a single step alone when bounds are tight', () => {
    const second = 1_000_000;
    const one = { axis: 'timestamp', from: base, to: base + second };
    expect(tightBounds(one, { step: second, fromInclusive: true, toInclusive: true })).toEqual({
      from: base,
      to: base,
    });
    expect(tightBounds(one, { step: second, fromInclusive: false, toInclusive: true })).toEqual({
      from: base - second,
      to: base,
    });
    expect(tightBounds(one, { step: second, fromInclusive: true, toInclusive: false })).toEqual({
      from: base,
      to: base + second,
    });
  });
});
