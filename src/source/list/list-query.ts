/**
 * Windows of the list, and the query parameters that ask for them. Windows are half-open, `[from, to)` on an axis, in
 * microseconds: the parts of a window cover each of its instants exactly once.
 */
import type { AxisConfig, ListConfig } from '../../../schemas/config/list.ts';
import { terminal } from '../../lib/errors.ts';
import { formatStep, formatTimestamp, type Micros } from '../../lib/timestamps.ts';

export type Window = { readonly axis: string; readonly from: Micros; readonly to: Micros };

export interface ListQuery {
  /** Without a window: everything the list has. */
  readonly window?: Window | undefined;
  /** A second window on another axis, to cut an instant that is too large. */
  readonly also?: Window | undefined;
  /** Bounds without slack: only where all times are known to be multiples of the API's step. */
  readonly tight?: boolean | undefined;
  /** Leave the heavy fields out, where the API can. */
  readonly summary?: boolean | undefined;
  /** One status instead of the configured ones. */
  readonly status?: string | undefined;
  /** Records asked for on a page, fewer than configured, where the style takes a size. */
  readonly pageSize?: number | undefined;
  /** Records that a page shares with the one before, where the style can seek. */
  readonly overlap?: number | undefined;
  /** Fewer attempts than source.limits.retries allows. */
  readonly retries?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A query of a part of the list. */
export type WindowQuery = ListQuery & { readonly window: Window };

/** Where no axis is configured, the list is read whole and cut locally by the call's own time. */
const ownTime: AxisConfig = { name: 'timestamp', record_field: 'timestamp', end_of_processing: false };

/** All axes of a list. */
export const axesOf = (list: ListConfig) => (list.cursor_fields.length === 0 ? [ownTime] : list.cursor_fields);

/** The axis of a list by its name. @throws CallsyncError AXIS_UNKNOWN */
export const axisOf = (list: ListConfig, name: string): AxisConfig => {
  const axis = axesOf(list).find((candidate) => candidate.name === name);
  if (axis === undefined) {
    const known = Array.from(axesOf(list), (one) => one.name).join(', ');
    throw terminal('AXIS_UNKNOWN', `The list has no axis “${name}” (it has ${known}).`);
  }
  return axis;
};

/** The axis on which nothing joins a past window, where the service has one. */
export const endOfProcessingAxis = (list: ListConfig) => axesOf(list).find((axis) => axis.end_of_processing);

/** Axis of incremental reading: the configured one, else the end of processing, else the first. */
export const defaultAxis = (list: ListConfig): AxisConfig =>
  list.axis !== undefined ? axisOf(list, list.axis) : (endOfProcessingAxis(list) ?? axesOf(list)[0] ?? ownTime);

/** Whether the API itself cuts by this axis on both sides, so that a shorter window is a smaller answer. */
export const isCuttable = (axis: AxisConfig): boolean => axis.from_param !== undefined && axis.to_param !== undefined;

/** The axis by which an instant of `name` can still be cut. */
export const otherAxis = (list: ListConfig, name: string): AxisConfig | undefined =>
  list.cursor_fields.find((axis) => axis.name !== name && isCuttable(axis));

/** Step of the bounds in microseconds: the coarser of the format's and the API's resolution. */
export const boundStep = (list: ListConfig) => Math.max(formatStep(list.time_format), list.time_resolution_ms * 1000);

/** Whether the list can be asked without its large fields (`source.list.exclude`). */
export const canLeaveOut = (list: ListConfig): boolean => list.exclude_param !== undefined && list.exclude.length > 0;

export const listParams = (list: ListConfig, query: ListQuery): Map<string, string> => {
  const params = new Map(Object.entries(list.params));
  for (const window of [query.window, query.also]) {
    if (window === undefined) continue;
    const axis = axisOf(list, window.axis);
    const bounds = boundsOf(list, query, window);
    if (axis.from_param !== undefined) params.set(axis.from_param, formatTimestamp(bounds.from, list.time_format));
    if (axis.to_param !== undefined) params.set(axis.to_param, formatTimestamp(bounds.to, list.time_format));
  }
  const sorted = query.window === undefined ? defaultAxis(list) : axisOf(list, query.window.axis);
  if (list.order_param !== undefined && sorted.order !== undefined) params.set(list.order_param, sorted.order);
  const status = query.status ?? list.status;
  if (list.status_param !== undefined && status !== undefined) params.set(list.status_param, status);
  if (query.summary && canLeaveOut(list)) params.set(list.exclude_param ?? '', list.exclude.join(','));
  return params;
};

/**
 * The bounds sent for a window of the query, so that the API returns at least the window. Both are rounded outwards to
 * its step, and an exclusive lower bound goes one step further. The record's own time drops the excess. Where the query
 * is tight, an inclusive upper bound stops one step earlier, so that a single step can be requested. Bounds of the other
 * axis are never tight, because its times need not be multiples of the step. Dates go one further on both sides: a service may take
 * them as days of its own time zone.
 */
export const boundsOf = (list: ListConfig, query: ListQuery, window: Window) => {
  const step = boundStep(list);
  const isDate = list.time_format === 'date';
  const from = Math.floor(window.from / step) * step - (list.from_inclusive && !isDate ? 0 : step);
  const to = Math.ceil(window.to / step) * step + (isDate ? step : 0);
  const isTight = query.tight && window === query.window && list.to_inclusive && !isDate;
  return { from, to: isTight ? Math.max(to - step, from) : to };
};

/**
 * Cuts a window into `parts` of about equal length whose inner borders are multiples of `step`. Fewer parts, down
 * to the window itself, where there are not enough steps in it.
 */
export const splitWindow = ({ axis, from, to }: Window, parts: number, step: Micros): Window[] => {
  const [first, last] = [(Math.floor(from / step) + 1) * step, (Math.ceil(to / step) - 1) * step];
  const inner = new Set<Micros>();
  for (let part = 1; part < parts && first <= last; part++) {
    const ideal = from + ((to - from) * part) / parts;
    inner.add(Math.min(last, Math.max(first, Math.round(ideal / step) * step)));
  }
  const borders = [from, ...inner, to];
  return borders.slice(1).map((end, index) => ({ axis, from: borders[index] ?? from, to: end }));
};

/** The two halves of a window, or undefined when it holds a single step and cannot be split. */
export const halveWindow = (window: Window, step: Micros): readonly [Window, Window] | undefined => {
  const [first, second] = splitWindow(window, 2, step);
  return first !== undefined && second !== undefined ? [first, second] : undefined;
};
