/** The service's present, by which ranges end: what it holds beyond, it cannot know yet. */
import { serviceNow } from '../../source/http/service-clock.ts';
import type { ReadDeps } from '../deps.ts';

const second = 1_000_000;

/**
 * Microseconds; the local time where the service tells none. A process that has asked nothing yet asks for the total of
 * one second to learn it.
 */
export const askServiceTime = async (
  { clock, list }: Pick<ReadDeps['source'], 'clock' | 'list'>,
  { axis, local, signal }: { readonly axis: string; readonly local: number; readonly signal?: AbortSignal | undefined },
): Promise<number> => {
  if (serviceNow(clock) === undefined)
    await list.readTotal({ window: { axis, from: local - second, to: local }, signal });
  return serviceNow(clock) ?? local;
};
