/** What an edit does to the record: pure, so that every earlier version can be made again. */
import type { CallDocument } from '../../../schemas/call.ts';
import type { EditKind, SimulatorSettings } from '../../../schemas/simulator.ts';
import { generateTags, generateTranscript } from './generate-call.ts';

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
