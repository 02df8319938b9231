import type { Range } from '../../../schemas/orchestration.ts';
import type { SyncDeps } from './plan-sync.ts';
import { askServiceTime } from './service-time.ts';

export interface RelativeRange {
  readonly axis: string;
  /** Microseconds before `scheduledAt`. */
  readonly last: number;
  /** When the run was due, in microseconds: one that begins late still covers what it was to cover. */
  readonly scheduledAt: number;
}

/** The range ends at the present by the service's clock. Asks for the time where no answer has told it yet. */
export const resolveRange = async (
  { source, now }: Pick<SyncDeps, 'source' | 'now'>,
  { axis, last, scheduledAt }: RelativeRange,
  signal?: AbortSignal,
): Promise<Range> => {
  const to = await askServiceTime(source, { axis, local: now().getTime() * 1000, signal });
  return { from: Math.min(scheduledAt, to) - last, to };
};
