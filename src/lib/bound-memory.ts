/** V8's limits of memory, for processes that run for long. */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Lets the heap of this process and of its threads grow less than V8 would. Call it at the start.
 * @param isLongIdle young objects get their space only with `growYoung`.
 */
export const boundMemory = (isLongIdle = false): void => {
  // By default V8 lets the old space grow for long, but a reader's pages are garbage within a second. A worker that
  // holds 60 MB would reach 500.
  // A smaller limit costs too much: each collection marks the whole heap. Workers raise it.
  limitGrowth(40);
  // A collection of young objects takes a millisecond, and helpers would often wait for a core for longer.
  setFlagsFromString('--no-parallel-scavenge --no-concurrent-array-buffer-sweeping');
  keepYoungSmall(isLongIdle);
  // Later versions of Node have it. Without it, pg makes a `Response` to find out where it runs: all of `fetch` is loaded.
  if (!('navigator' in globalThis)) Object.assign(globalThis, { navigator: { userAgent: 'Node.js' } });
};

/** V8 collects the old space when about `percent` of the used memory has been added. Bytes of bodies count. */
export const limitGrowth = (percent: number): void => setFlagsFromString(`--heap-growing-percent=${percent}`);

/** Bytes that the space of young objects may grow to. */
let mostYoung = 0;

const youngBytes = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;

const holdYoung = () => setFlagsFromString(`--semi-space-growth-factor=${youngBytes() < mostYoung ? 2 : 1}`);

/**
 * V8's space of young objects would grow to 33 MB and stay so large, in each thread. In a running isolate only the
 * growth can be limited: so the space may grow up to its limit, and then no more.
 */
const keepYoungSmall = (isLongIdle: boolean): void => {
  // For threads: each has an isolate of its own. With 1 MB, a load's would be collected twice as often.
  setFlagsFromString('--min-semi-space-size=2 --max-semi-space-size=4');
  (isLongIdle ? holdYoung : growYoung)();
  // V8 gives the space back to the last megabyte while little happens. Without it, much work takes a quarter more of the processor.
  setInterval(holdYoung, 250).unref();
  // The start of a thread sets it back at some time before it is online.
  process.on('worker', (thread) => {
    const again = setInterval(holdYoung, 2);
    const end = () => clearInterval(again);
    thread.once('online', holdYoung).once('online', end).once('exit', end);
  });
};

/** Gives young objects the space that much work needs, once. */
export const growYoung = (): void => {
  if (mostYoung > 0) return;
  mostYoung = 2 ** 23;
  holdYoung();
  const kept: unknown[] = [];
  while (youngBytes() < mostYoung && kept.length < 500) kept.push(new Array(5_000).fill(0));
  holdYoung();
};
