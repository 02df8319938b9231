/** What continuous sync has to read now: computed from the stored watermark, never from the scheduled time. */
import type { Direction, Range } from '../../../schemas/orchestration.ts';
import { serviceNow } from '../../source/http/service-clock.ts';
import { advanceWatermark } from '../../store/windows/windows.ts';
import type { ReadDeps } from '../deps.ts';

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

const watermarkName = 'sync';
const second = 1_000_000;

/**
 * The range ends by the service's clock, or by the local one where the service tells no time: what a window that ends
 * in the service's future holds, the service cannot know yet. A process that has asked nothing yet asks for the total
 * of one second to learn the time.
 */
export const planSync = async ({ store, source, sync, now }: SyncDeps, signal?: AbortSignal): Promise<PlannedSync> => {
  const { axis, settle, overlap, start, direction } = sync;
  const watermark = await advanceWatermark(store, { name: watermarkName, axis, start });
  const local = now().getTime() * 1000;
  if (serviceNow(source.clock) === undefined)
    await source.list.readTotal({ window: { axis, from: local - second, to: local }, signal });
  const to = (serviceNow(source.clock) ?? local) - settle;
  const from = Math.max(start, (watermark ?? start) - overlap);
  return { axis, direction, range: { from: Math.min(from, to), to } };
};

/** Moves the watermark to the end of the contiguous prefix of read windows; null while nothing is read. */
export const finishSync = async ({ store, sync }: SyncDeps): Promise<{ readonly watermark: number | null }> => ({
  watermark: (await advanceWatermark(store, { name: watermarkName, axis: sync.axis })) ?? null,
});
