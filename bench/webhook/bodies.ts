/** Deliveries of the usual size: the simulator's calls of 40 utterances, about 40 KB each. */
import type { CallDocument } from '../../schemas/call.ts';
import { simulatorOptionsSchema } from '../../schemas/simulator.ts';
import { generateContent } from '../../src/simulator/calls/generate-call.ts';
import { callIdOf } from '../../src/simulator/calls/random.ts';
import { numberStyles } from '../privacy/speak.ts';

/** One call in so many has a telephone number dictated in it. */
const dictatedEach = 4;

/** A number as a caller says it, over two utterances with the usual answer between them. */
const dictate = (callData: unknown, index: number): void => {
  if (!Array.isArray(callData)) return;
  const digits = String(39_980_000 + (index % 10_000)).match(/../g) ?? [];
  const say = (groups: readonly string[]): string => numberStyles['fr-pairs']?.(groups) ?? '';
  const said = [`c'est le ${say(['06', ...digits.slice(0, 2)])}`, "oui d'accord", `${say(digits.slice(2))} voilà`];
  for (const [offset, content] of said.entries()) {
    const words = content
      .split(' ')
      .map((value, at) => ({ score: 0.9, start: 60 + offset * 4 + at / 2, value, length: 0.4 }));
    callData[5 + offset] = {
      from: offset === 1 ? 'out' : 'in',
      words,
      content,
      datetime: 60 + offset * 4,
      duration: 3,
    };
  }
};

/**
 * @param bytes filled up to about this size, so that ratios compare between versions of the generator.
 * @param isDictated one call in four has a telephone number spoken in it.
 */
export const makeCallBodies = (count: number, bytes = 40_000, isDictated = false): readonly Buffer[] => {
  const settings = simulatorOptionsSchema.parse({});
  const timestampMs = Date.UTC(2024, 2, 4, 9);
  return Array.from({ length: count }, (_, index) => {
    const head = { unique_id: callIdOf(settings.seed, index), timestamp: new Date(timestampMs).toISOString() };
    const call: CallDocument = {
      ...head,
      ...generateContent(settings, index, timestampMs, false),
      status: 'qualified',
    };
    const transcript = call.transcript_json as { callData?: unknown } | null;
    if (isDictated && index % dictatedEach === 0) dictate(transcript?.callData, index);
    const missing = bytes - Buffer.byteLength(JSON.stringify(call));
    return Buffer.from(JSON.stringify(missing > 0 ? { ...call, filler: 'x'.repeat(missing) } : call));
  });
};
