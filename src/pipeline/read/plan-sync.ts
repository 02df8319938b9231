/** What continuous sync has to read now: computed from the stored watermark, never from the scheduled time. */
import type { Direction, Range } from '../../../schemas/orchestration.ts';
import { steadyNow } from '../../source/http/service-clock.ts';
import { advanceWatermark } from '../../store/windows/windows.ts';
import type { ReadDeps } from './read-range-part.ts';

export interface SyncDeps extends ReadDeps {
  readonly now: () => Date;
  readonly sync: {
    /** Microseconds. */
    readonly settle: number;
    readonly overlap: number;
    readonly start: number;
    readonly direction: Direction;
    readonly axis: string;
  };
}

export interface PlannedSync {
  readonly axis: string;
  readonly range: Range;
  readonly direction: Direction;
}

export const watermarkName = 'sync';
const second = 1_000_000;

/** The range ends by the service's clock: what a window that ends in its future holds, it cannot know yet. */
export const planSync = async (deps: SyncDeps, signal?: AbortSignal): Promise<PlannedSync> => {
  const { axis, settle, overlap, start, direction } = deps.sync;
  const watermark = await advanceWatermark(deps.store, { name: watermarkName, axis, start });
  const to = (await serviceNow(deps, signal)) - settle;
  const from = Math.max(start, (watermark ?? start) - overlap);
  return { axis, direction, range: { from: Math.min(from, to), to } };
};

/**
 * The earliest that it can be by the service's clock, in microseconds; the local clock where the service tells none. A
 * process that has asked nothing yet asks for the total of a second.
 */
const serviceNow = async (
  { source, sync: { axis }, now }: SyncDeps,
  signal: AbortSignal | undefined,
): Promise<number> => {
  const local = now().getTime() * 1000;
  if (source.clock.offset() === undefined) {
    await source.list.readTotal({ window: { axis, from: local - second, to: local }, signal });
  }
  const offset = source.clock.offset();
  return offset === undefined ? local : Math.floor((steadyNow() + offset.low) * 1000);
};
