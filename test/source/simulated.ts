/** A source that reads the simulated service. */
import { onTestFinished } from 'vitest';
import { type SourceConfig, type SourceConfigInput, sourceConfigSchema } from '../../schemas/config/source.ts';
import type { Observation } from '../../schemas/observation.ts';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import type { ReadDeps } from '../../src/pipeline/deps.ts';
import { readRangePart } from '../../src/pipeline/read/read-range-part.ts';
import { sourceOf } from '../../src/simulator/demo/simulator-process.ts';
import type { startSimulator } from '../../src/simulator/start-simulator.ts';
import type { Window } from '../../src/source/list/list-query.ts';
import { applyPreset } from '../../src/source/presets/presets.ts';
import { readWindow } from '../../src/source/read/read-window.ts';
import { createSource, type Source } from '../../src/source/source.ts';
import { openSimulator } from '../support/simulator.ts';

type PartInput = Parameters<typeof readRangePart>[1];
type Simulator = Awaited<ReturnType<typeof startSimulator>>;

type Section = Partial<SourceConfigInput>;

export const simulatedConfig = async (simulator: Simulator, section: Section = {}): Promise<SourceConfig> => {
  const raw = await applyPreset({ source: section });
  return sourceConfigSchema.parse({ ...sourceOf(simulator), ...(raw.source as Section) });
};

export const simulatedSource = async (
  simulator: Simulator,
  section: Section = {},
  deps: NonNullable<Parameters<typeof createSource>[1]> = {},
): Promise<Source> => createSource(await simulatedConfig(simulator, section), deps);

/** A simulated service, and a source that reads it, until the end of the test. */
export const openSimulated = async (options: SimulatorOptions, section: Section) => {
  const simulator = await openSimulator(options);
  const source = await simulatedSource(simulator, section);
  onTestFinished(source.close);
  return { simulator, source };
};

/** Reads a part of a range as a backfill does, all of it unless told otherwise. */
export const readPart = (
  deps: ReadDeps,
  part: Pick<PartInput, 'axis' | 'range'> & Partial<PartInput>,
  more: Partial<Parameters<typeof readRangePart>[2]> = {},
) => {
  const usual = { direction: 'oldest_first', origin: 'backfill', force: true, maxCalls: 1e6, maxSeconds: 600 } as const;
  const options = { signal: new AbortController().signal, attempt: 1, onProgress: () => undefined };
  return readRangePart(deps, { ...usual, ...part }, { ...options, ...more });
};

/** The dependencies of a reading whose list answers otherwise. */
export const withList = <D extends { readonly source: Source }>(deps: D, list: Partial<Source['list']>): D => ({
  ...deps,
  source: { ...deps.source, list: { ...deps.source.list, ...list } },
});

/** The range of planned call times with room on both sides, on an axis. */
export const wholeRange = (simulator: Simulator, axis: string): Window => ({
  axis,
  from: Date.parse(simulator.range.from) * 1000 - 60_000_000,
  to: Date.parse(simulator.range.to) * 1000 + 30 * 86_400_000_000,
});

/** The last observation of each call (`seen`), and the ids of those inside the window. */
export const readSimulated = async (
  source: Pick<Source, 'list'>,
  window: Window,
  more: Partial<Parameters<typeof readWindow>[0]> = {},
) => {
  const seen = new Map<string, Observation>();
  const inside = new Set<string>();
  const result = await readWindow({
    client: source.list,
    window,
    onPage: (observations, meta) => {
      for (const observation of observations) {
        if (!meta.outside.has(observation.callId)) inside.add(observation.callId);
        seen.set(observation.callId, observation);
      }
    },
    ...more,
  });
  return { result, seen, inside };
};

/** Ids that the list shows now; with `statuses` only those. */
export const listedIds = async (simulator: Simulator, statuses?: readonly string[]): Promise<Set<string>> => {
  const ids = new Set<string>();
  for await (const entry of simulator.truth({ light: true })) {
    if (entry.visibleInList && (statuses === undefined || statuses.includes(entry.status))) ids.add(entry.callId);
  }
  return ids;
};

export const missingFrom = (expected: ReadonlySet<string>, seen: ReadonlyMap<string, unknown>): string[] =>
  [...expected].filter((id) => !seen.has(id));
