/** Which planned calls will change, and when: seeded, so that a late edit is known before it happens. */
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import type { Population } from './population.ts';
import { fraction } from './random.ts';

export interface PlannedEdit {
  /** Simulated milliseconds. */
  readonly at: number;
  readonly index: number;
}

const dayMs = 86_400_000;

const ageOf = (settings: SimulatorSettings, index: number): number => {
  const { maxAgeDays, distribution } = settings.edits;
  const at = fraction(settings.seed, index, 41);
  if (distribution === 'uniform') return at * maxAgeDays * dayMs;
  return Math.min(1, -Math.log(1 - at) / 5) * maxAgeDays * dayMs;
};

export const planEdits = (settings: SimulatorSettings, population: Population): readonly PlannedEdit[] => {
  const { share } = settings.edits;
  if (share === 0) return [];
  const planned: PlannedEdit[] = [];
  for (let index = 0; index < population.count; index++) {
    if (fraction(settings.seed, index, 40) >= share) continue;
    planned.push({ at: Math.floor((population.qualified[index] as number) + 1_000 + ageOf(settings, index)), index });
  }
  return planned.sort((a, b) => a.at - b.at || a.index - b.index);
};
