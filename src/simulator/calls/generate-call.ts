/** The content of a call, computed from seed and index: the record of interface §2.1 with its objects. */
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { formatInstant } from '../../lib/count-of.ts';
import { dateOf } from '../../lib/timestamps.ts';
import { around, durationSecondsOf, transcriptShares } from './population.ts';
import { fraction, hash32, pick, randomStream } from './random.ts';
import { agents, campaigns, depts, phoneNumber, tagKinds, words } from './vocabulary.ts';

type Random = () => number;

const round = (value: number, digits: 2 | 3): number => {
  const unit = digits === 2 ? 100 : 1_000;
  return Math.round(value * unit) / unit;
};

const generateUtterance = (from: string, start: number, mean: number, random: Random, scored: boolean) => {
  const spoken = [];
  let at = start;
  for (let n = Math.max(1, around(mean, random())); n > 0; n--) {
    const value = pick(words, random());
    const length = round(0.12 + random() * 0.5, 2);
    spoken.push({ score: round(0.5 + random() * 0.5, 3), start: round(at, 2), value, length });
    at += length + 0.05;
  }
  const content = spoken.map(({ value }) => value).join(' ');
  const utterance = { from, words: spoken, content, datetime: round(start, 2), duration: round(at - start, 2) };
  return {
    utterance: scored ? { ...utterance, score: round(0.5 + random() * 0.5, 3) } : utterance,
    end: at + random(),
  };
};

/** Tags of one call; `salt` makes another choice after an edit. */
export const generateTags = (settings: SimulatorSettings, index: number, salt: number): unknown[] => {
  const random = randomStream(hash32(settings.seed, index, 100 + salt));
  const first = Math.floor(random() * tagKinds.length);
  return Array.from({ length: settings.calls.tags }, (_, i) => {
    const kind = tagKinds[(first + i * 5) % tagKinds.length];
    const value =
      kind?.type === 'number' ? Math.floor(random() * 10) : kind?.type === 'text' ? 'later' : random() < 0.5;
    return { ...kind, confidence: round(random(), 3), value };
  });
};

const saltOverlap = 10_000;
/** Asked apart from the stream, so that a share of overlaps changes no word. */
const interrupts = (settings: SimulatorSettings, index: number, utterance: number): boolean =>
  fraction(settings.seed, index, saltOverlap + utterance) < settings.calls.overlapShare;

/** Transcript of one call; after an edit (`salt` > 0) some utterances are another text. */
export const generateTranscript = (settings: SimulatorSettings, index: number, ivrEnd: number, salt: number) => {
  const { random, ...shares } = transcriptShares(settings.seed, index);
  const { utterances, words: mean, padding } = settings.calls;
  const scored = shares.scored < 0.12;
  const callData: unknown[] = [];
  const n = around(utterances, shares.count);
  const hangUp = durationSecondsOf(settings, index);
  const changed = salt === 0 ? -1 : hash32(settings.seed, index, salt) % Math.max(1, n);
  let start = ivrEnd;
  for (let i = 0; i < n; i++) {
    const stream = i === changed ? randomStream(hash32(settings.seed, index, 300 + salt)) : random;
    const made = generateUtterance(i % 2 === 0 ? 'out' : 'in', start, mean, stream, scored);
    if (made.utterance.datetime + made.utterance.duration > hangUp) break;
    callData.push(made.utterance);
    start = interrupts(settings, index, i + 1) ? Math.max(start + 0.2, made.end - 2) : made.end;
  }
  return {
    callData,
    callUniqueId: random() < 0.5 ? '' : `asr-${hash32(settings.seed, index, 201).toString(16)}`,
    meta: {
      ivr_end: ivrEnd,
      obfuscated: random() < 0.5 ? 'true' : 'false',
      lang: random() < 0.9 ? 'fr' : 'en',
      asr_model: 'telephony-2',
      ...(padding > 0 ? { filler: 'x'.repeat(padding) } : {}),
      ...(salt > 0 && n === 0 ? { pass: String(salt) } : {}),
    },
  };
};

const generateMetadata = (index: number, timestampMs: number, ani: string, random: Random): Record<string, string> => {
  const unparsable = ['n/a', '12,5', '', '1 000'];
  const metadata: Record<string, string> = {
    ClientCaptureDate: formatInstant(timestampMs),
    ClientID: `client-${1 + Math.floor(random() * 5_000)}`,
    AudioFileLocation: `/audio/${dateOf(timestampMs)}/${index}.wav`,
    ANI: ani,
    Agent: pick(agents, random()),
    Direction: random() < 0.7 ? 'IN' : 'OUT',
    Dept: pick(depts, random()),
    UDF_num_01: String(Math.floor(random() * 100)),
    UDF_num_02: random() < 0.1 ? pick(unparsable, random()) : (random() * 1_000).toFixed(2),
    UDF_text_01: pick(words, random()),
    UDF_text_02: String(Math.floor(random() * 100)),
  };
  if (random() < 0.2) metadata.UDF_num_14 = `-${Math.floor(random() * 50)}.50`;
  if (random() < 0.2) metadata.Queue = `queue-${Math.floor(random() * 9)}`;
  return metadata;
};

/** The fields that are only content; `light` leaves the costly transcript out. @param timestampMs the call's own time */
export const generateContent = (settings: SimulatorSettings, index: number, timestampMs: number, light: boolean) => {
  const random = randomStream(hash32(settings.seed, index, 400));
  const ivrEnd = round(2 + random() * 28, 2);
  const phone = phoneNumber(random());
  const metadata = generateMetadata(index, timestampMs, phone, random);
  const caller = { label: random() < 0.5 ? null : 'Customer', data: phone, type: 'PHONE' };
  const called = random() < 0.3 ? { label: 'Line', data: phoneNumber(random()), type: 'PHONE' } : null;
  const inbound = metadata.Direction === 'IN';
  const visit =
    random() < 0.3 ? { source: pick(['search', 'ad', 'direct'], random()), pages: 1 + Math.floor(random() * 9) } : null;
  const tracking =
    random() < 0.3 ? { gclid: `g-${hash32(settings.seed, index, 401).toString(36)}`, medium: 'cpc' } : null;
  return {
    transcript_json: random() < 0.01 || light ? null : generateTranscript(settings, index, ivrEnd, 0),
    duration: String(durationSecondsOf(settings, index)),
    ivr_end: ivrEnd,
    campaign: pick(campaigns, random()),
    audio_state: random() < 0.95 ? 'AVAILABLE' : 'MISSING',
    metadata,
    tags: generateTags(settings, index, 0),
    visit,
    tracking_info: tracking,
    out: inbound ? called : caller,
    in: inbound ? caller : called,
  };
};

/** The list-only object of the public reference. */
export const generateQualification = (settings: SimulatorSettings, index: number): Record<string, unknown> => ({
  score: hash32(settings.seed, index, 402) % 101,
  rule: `rule-${hash32(settings.seed, index, 403) % 7}`,
});
