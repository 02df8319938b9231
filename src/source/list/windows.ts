/**
 * Half-open windows `[from, to)` on an axis, in microseconds: pure arithmetic. Whatever is cut from a window covers
 * each of its instants exactly once.
 */
import type { Micros } from '../../lib/timestamps.ts';

export interface Window {
  readonly axis: string;
  readonly from: Micros;
  readonly to: Micros;
}

/** Whether an instant lies in `[from, to)`. */
export const contains = (window: Window, instant: Micros): boolean => instant >= window.from && instant < window.to;

/**
 * Cuts a window into `parts` of about equal length whose inner borders are multiples of `step`. Fewer parts, down
 * to the window itself, where there are not enough steps in it.
 */
export const splitWindow = (window: Window, parts: number, step: Micros): Window[] => {
  const borders: Micros[] = [window.from];
  for (let part = 1; part < parts; part++) {
    const ideal = window.from + ((window.to - window.from) * part) / parts;
    const border = Math.round(ideal / step) * step;
    const previous = borders[borders.length - 1] ?? window.from;
    if (border > previous && border < window.to) borders.push(border);
  }
  if (borders.length === 1) {
    // The rounded middle may have left the window although one border is inside it.
    const inner = (Math.floor(window.from / step) + 1) * step;
    if (parts > 1 && inner < window.to) borders.push(inner);
  }
  borders.push(window.to);
  return borders.slice(1).map((to, index) => ({ axis: window.axis, from: borders[index] ?? window.from, to }));
};

/** The two halves of a window, or undefined when it holds a single step and cannot be split. */
export const halveWindow = (window: Window, step: Micros): readonly [Window, Window] | undefined => {
  const [first, second] = splitWindow(window, 2, step);
  return first !== undefined && second !== undefined ? [first, second] : undefined;
};

interface BoundRules {
  /** Finest step of a bound, in microseconds. */
  readonly step: Micros;
  readonly fromInclusive: boolean;
  readonly toInclusive: boolean;
}

/**
 * Bounds that make the API return at least the window: rounded outwards to its step, and one step further if the
 * lower bound is exclusive. The record's own time drops the excess.
 */
export const wideBounds = (window: Window, rules: BoundRules): { readonly from: Micros; readonly to: Micros } => {
  const from = Math.floor(window.from / rules.step) * rules.step;
  const to = Math.ceil(window.to / rules.step) * rules.step;
  return { from: rules.fromInclusive ? from : from - rules.step, to };
};

/**
 * Bounds of a window for an API whose times are multiples of its step. An inclusive upper bound stops one step
 * earlier, so that a single step can be requested.
 */
export const tightBounds = (window: Window, rules: BoundRules): { readonly from: Micros; readonly to: Micros } => {
  const wide = wideBounds(window, rules);
  return { from: wide.from, to: rules.toInclusive ? Math.max(wide.to - rules.step, wide.from) : wide.to };
};
