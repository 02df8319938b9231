/** Calls of a few people, of which each names numbers in several places. */
import { simulatorOptionsSchema } from '../../../schemas/simulator.ts';
import { generateCall } from '../../../src/simulator/calls/generate-call.ts';

const people = 30;
export const begin = Date.UTC(2024, 2, 4);
const settings = simulatorOptionsSchema.parse({ calls: { utterances: 4, words: 4 } });

export const personOf = (index: number): string => `6399812${String((index * 7) % people).padStart(2, '0')}`;
/** Ways in which a number is written in what was said. */
const styles: readonly ((national: string) => string)[] = [
  (national) => `0${national}`,
  (national) => `0${national}`.replaceAll(/(..)(?=.)/g, '$1 '),
  (national) => `+33 ${national.slice(0, 1)} ${national.slice(1).replaceAll(/(..)(?=.)/g, '$1 ')}`,
];

const mention = (content: string, at: number) => ({
  from: 'in',
  words: content.split(' ').map((value, index) => ({ score: 0.9, start: at + index, value, length: 0.5 })),
  content,
  datetime: at,
  duration: 5,
});

/** A generated call whose caller is one of a few people; in every third another one's number is said. */
export const callOf = (index: number) => {
  const timestamp = new Date(begin + index * 60_000).toISOString();
  const seed = { index, callId: String(index), timestampMs: begin + index * 60_000, timestamp, status: 'qualified' };
  const call = generateCall(settings, seed, false);
  const caller = { label: 'Customer', data: `33${personOf(index)}`, type: 'PHONE' };
  const said = mention(`rappelez le ${styles[index % styles.length]?.(personOf(index + 1))} merci`, 60);
  const transcript = call.transcript_json as { callData?: readonly unknown[] } | null;
  return {
    ...call,
    metadata: { ...(call.metadata as object), ANI: `33${personOf(index)}` },
    in: caller,
    out: index % 5 === 0 ? { label: 'Line', data: `33${personOf(index + 2)}`, type: 'PHONE' } : null,
    transcript_json: {
      meta: { lang: 'fr' },
      ...transcript,
      callData: [...(transcript?.callData ?? []), ...(index % 3 === 0 ? [said] : [])],
    },
  };
};
