/** Probing lists to whose beginning calls come while they are asked: one case a style of paging. */
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { probeSource } from '../../src/source/probe/probe.ts';
import { simulatedConfig } from './simulated.ts';

type Found = Readonly<Record<string, unknown>>;

export const liveCases: Readonly<Record<string, { readonly options: SimulatorOptions; readonly pagination: Found }>> = {
  offset: {
    options: { dialect: 'activate' },
    pagination: { style: 'offset', offset_param: 'offset', size_param: 'limit' },
  },
  page: {
    options: { dialect: 'page_total' },
    pagination: { style: 'page', page_param: 'page', size_param: 'per_page', first: 1 },
  },
  'page from 0': {
    options: { dialect: 'nested_records' },
    pagination: { style: 'page', page_param: 'pageNumber', size_param: 'pageSize', first: 0 },
  },
  cursor: {
    options: { dialect: 'cursor_body' },
    pagination: { style: 'cursor', cursor_param: 'cursor', next_path: 'paging.cursors.next' },
  },
  link: { options: { dialect: 'link' }, pagination: { style: 'link', rel: 'next' } },
  none: { options: { dialect: 'bare_inclusive' }, pagination: { style: 'none' } },
};

/** Probes a list of its own, newest first, with ten new calls a second. */
export const probeLive = async (name: string, seed: number) => {
  const { options } = liveCases[name] ?? { options: {} };
  const simulator = await startSimulator({
    ...options,
    seed,
    calls: { count: 600, utterances: 1, words: 2, otherShare: 0 },
    live: { callsPerSecond: 10, processingSeconds: 0 },
    rateLimit: { requests: 0 },
    dialectOverrides: { newestFirst: true },
  });
  try {
    const config = await simulatedConfig(simulator, { limits: { requests: 1_000_000 } });
    return await probeSource({ config });
  } finally {
    await simulator.stop();
  }
};
