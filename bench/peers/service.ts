/** A hostile but honest service: while anyone pages, calls leave the pages that were read, change, and come late. */
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';

export type Service = Awaited<ReturnType<typeof startService>>;

/** A call as the list shows it, by the fields that every tool stores. */
export type Shown = { readonly status: string; readonly campaign: string };

/** One of these happens at every second page that is not the last, as often as there are names. */
const moves = [
  'leave',
  'late',
  'leave',
  'change',
  'leave',
  'late',
  'change',
  'leave',
  'late',
  'leave',
  'change',
  'late',
];

const options = (seed: number, count: number): SimulatorOptions => ({
  seed,
  calls: { count, density: 'even', otherShare: 0, lateShare: 0.02, utterances: 4, words: 6 },
  rateLimit: { requests: 40, seconds: 10 },
  unstableTies: true,
});

/** The same seed makes the same calls and the same moves for every tool. */
export const startService = async (seed: number, count: number) => {
  const simulator = await startSimulator(options(seed, count));
  let pages = 0;
  let moved = 0;
  simulator.onPage(async ({ query, page, callIds }) => {
    const [read] = callIds;
    if (read === undefined || page.total <= query.offset + callIds.length || moved === moves.length) return;
    if (pages++ % 2 === 1) return;
    const move = moves[moved++];
    if (move === 'leave') await simulator.delete({ callIds: [read] });
    else if (move === 'change') await simulator.edit({ callIds: [read], kinds: ['status'], requalify: true });
    else await simulator.insert({ timestamp: (await simulator.truthOf(read))?.timestamp ?? '', status: 'qualified' });
  });
  return {
    ...simulator,
    /** All calls on the list now. */
    async shown(): Promise<ReadonlyMap<string, Shown>> {
      const shown = new Map<string, Shown>();
      for await (const { callId, document, visibleInList } of simulator.truth())
        if (visibleInList)
          shown.set(callId, { status: String(document?.status), campaign: String(document?.campaign) });
      return shown;
    },
    async requests(): Promise<number> {
      return (await simulator.stats()).requests.total;
    },
  };
};

/** Changes between two runs of a tool, in their order; the first run reads the calls as they are. */
export const steps: readonly { readonly name: string; change(service: Service): Promise<unknown> }[] = [
  { name: 'first run', change: async () => undefined },
  {
    name: '60 edits, 40 new',
    change: async (service) => {
      await service.edit({ random: 60, seed: 2, kinds: ['status'], requalify: true });
      await service.insert({ count: 36, status: 'qualified' });
      const late = new Date(Date.now() - 5 * 86_400_000).toISOString();
      await service.insert({ count: 4, timestamp: late, status: 'qualified' });
    },
  },
  {
    name: '30 edits, 10 deleted',
    change: async (service) => {
      await service.edit({ random: 30, seed: 3, kinds: ['status'], requalify: true });
      await service.delete({ random: 10, seed: 4 });
    },
  },
  { name: 'nothing new', change: async () => undefined },
];
