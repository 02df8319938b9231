/**
 * Planned edits with their times, seeded, so that a late edit is known in advance, and the effect of an edit. Pure,
 * so that every earlier version can be rebuilt.
 */

import type { CallDocument } from '../../../schemas/call.ts';
import type { EditKind, SimulatorSettings } from '../../../schemas/simulator.ts';
import { dayMs } from '../../lib/day.ts';
import { generateTags, generateTranscript } from './generate-call.ts';
import type { Population } from './population.ts';
import { fraction } from './random.ts';

export interface PlannedEdit {
  /** Simulated milliseconds. */
  readonly at: number;
  readonly index: number;
}

const ageOf = (settings: SimulatorSettings, index: number): number => {
  const { maxAgeDays } = settings.edits;
  const at = fraction(settings.seed, index, 41);
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

export interface Edit {
  /** When it happened, simulated milliseconds. */
  readonly at: number;
  readonly kinds: readonly EditKind[];
  readonly patch: CallDocument;
  /** The call's place after the edit. */
  readonly timestamp: number;
  readonly qualified: number;
  readonly status: string;
}

/** Applies the content of the `number`-th edit (from 1); status and timestamp are set by the caller. */
export const applyEdit = (
  settings: SimulatorSettings,
  document: CallDocument,
  index: number,
  edit: Edit,
  number: number,
): CallDocument => {
  const next = { ...document };
  for (const kind of edit.kinds) {
    if (kind === 'transcript') {
      next.transcript_json = generateTranscript(settings, index, document.ivr_end as number, number);
    } else if (kind === 'tags') {
      next.tags = [...generateTags(settings, index, number)].slice(0, settings.calls.tags);
    } else if (kind === 'metadata') {
      next.metadata = { ...(document.metadata as object), UDF_text_01: `edit ${number}`, Agent: `agent-e${number}` };
    } else if (kind === 'audio_state') {
      next.audio_state = document.audio_state === 'AVAILABLE' ? 'MISSING' : 'AVAILABLE';
    } else if (kind === 'visit') {
      next.visit = { source: 'edit', pages: number };
    }
  }
  return { ...next, ...edit.patch };
};
