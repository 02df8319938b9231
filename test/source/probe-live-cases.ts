/** Probing lists to whose beginning calls come while they are asked: one case a style of paging. */
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { probeSource } from '../../src/source/probe/probe.ts';
import { simulatedConfig } from './simulated.ts';

/** The dialect, and the pagination that is found. */
export const liveCases: Readonly<Record<string, readonly [dialect: string, found: Readonly<Record<string, unknown>>]>> =
  {
    offset: ['activate', { style: 'offset', offset_param: 'offset', size_param: 'limit' }],
    page: ['page_total', { style: 'page', page_param: 'page', size_param: 'per_page', first: 1 }],
    'page from 0': ['nested_records', { style: 'page', page_param: 'pageNumber', size_param: 'pageSize', first: 0 }],
    cursor: ['cursor_body', { style: 'cursor', cursor_param: 'cursor', next_path: 'paging.cursors.next' }],
    link: ['link', { style: 'link', rel: 'next' }],
    none: ['bare_inclusive', { style: 'none' }],
  };

/** Probes a list of its own, newest first, with ten new calls a second. */
export const probeLive = async (name: string, seed: number) => {
  const [dialect = ''] = liveCases[name] ?? [];
  const simulator = await startSimulator({
    ...{ dialect, seed },
    calls: { count: 600, utterances: 1, words: 2, otherShare: 0 },
    live: { callsPerSecond: 10, processingSeconds: 0 },
    rateLimit: { requests: 0 },
    dialectOverrides: { newestFirst: true },
  });
  try {
    return await probeSource({ config: await simulatedConfig(simulator, { limits: { requests: 1_000_000 } }) });
  } finally {
    await simulator.stop();
  }
};
