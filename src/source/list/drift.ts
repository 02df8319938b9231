/** Compares what records carry with what is known: new, vanished and oddly typed fields, per source. Pure. */
import { type CallDocument, knownCallFields } from '../../../schemas/call.ts';
import type { EncodedFields } from '../../lib/parse-json.ts';

type DriftKind = 'new' | 'vanished' | 'uncarried' | 'type' | 'repeated';

export interface DriftFinding {
  /** Such as `list`, `webhook` or `import`. */
  readonly source: string;
  readonly field: string;
  readonly kind: DriftKind;
  /** In words, never a value. */
  readonly detail: string;
  /** Records that showed it. */
  readonly seen: number;
}

/** Fields that some records of one source carried. */
export interface FieldTally {
  records: number;
  readonly fields: Map<string, { count: number; readonly types: Map<string, number> }>;
}

/** A tally of no records. */
export const createTally = (): FieldTally => ({ records: 0, fields: new Map() });

/** Counts the top-level fields of one record; those that are kept as bytes are not parsed for it. */
export const countFields = (tally: FieldTally, document: CallDocument, encoded?: EncodedFields): void => {
  tally.records++;
  for (const name of Object.keys(document)) {
    const bytes = encoded?.get(name);
    const field = tally.fields.get(name) ?? { count: 0, types: new Map<string, number>() };
    tally.fields.set(name, field);
    field.count++;
    const type = bytes === undefined ? typeOf(document[name]) : typeOfBytes(bytes);
    field.types.set(type, (field.types.get(type) ?? 0) + 1);
  }
};

/** No number and no literal is long enough to be kept as bytes. */
const typeOfBytes = (bytes: Buffer): string => (bytes[0] === 0x7b ? 'object' : bytes[0] === 0x5b ? 'array' : 'string');

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/** Types that the interface shows (§2.1); null is one of them where it says so or shows nothing to the contrary. */
const shownTypes = new Map<string, readonly string[]>(
  Object.entries({
    unique_id: ['string'],
    timestamp: ['string'],
    transcript_json: ['object', 'null'],
    duration: ['string'],
    ivr_end: ['number'],
    status: ['string'],
    campaign: ['string'],
    audio_state: ['string'],
    metadata: ['object', 'null'],
    tags: ['array', 'null'],
    visit: ['object', 'null'],
    tracking_info: ['object', 'null'],
    out: ['object', 'null'],
    in: ['object', 'null'],
    qualified: ['string', 'null'],
    qualification: ['object', 'null'],
  }),
);

export interface DriftInput {
  readonly source: string;
  readonly tally: FieldTally;
  /** Fields that this source carried before, in nearly every record; see `settledFields`. */
  readonly before: ReadonlySet<string>;
  /** How often fields came empty without being known to be carried (`WindowResult.uncarried`). */
  readonly uncarried?: Readonly<Record<string, number>>;
  /** Rows by which the list named and counted a call once more (`WindowResult.repeated`). */
  readonly repeated?: number;
}

/** Records without a field after which it counts as vanished. */
const enough = 20;

/**
 * Compares a tally with the fields that interface §2.1 shows and with those that the source carried before. Findings name
 * fields and types, never values.
 */
export const findDrift = ({ source, tally, before, uncarried = {}, repeated = 0 }: DriftInput): DriftFinding[] => {
  const known = new Set(knownCallFields);
  const findings: DriftFinding[] = [];
  for (const [field, { count, types }] of tally.fields) {
    if (!known.has(field)) {
      findings.push({
        source,
        field,
        kind: 'new',
        detail: `a field the interface does not show, as ${[...types.keys()].sort().join(' or ')}`,
        seen: count,
      });
    }
    const shown = shownTypes.get(field);
    const strange = shown === undefined ? [] : [...types].filter(([type]) => !shown.includes(type));
    if (shown !== undefined && strange.length > 0) {
      const seen = strange.reduce((sum, [, times]) => sum + times, 0);
      findings.push({
        source,
        field,
        kind: 'type',
        detail: `${strange
          .map(([type]) => type)
          .sort()
          .join(' or ')} instead of ${shown.join(' or ')}`,
        seen,
      });
    }
  }
  for (const field of before) {
    if (tally.records >= enough && !tally.fields.has(field)) {
      findings.push({ source, field, kind: 'vanished', detail: 'carried before, absent now', seen: tally.records });
    }
  }
  for (const [field, seen] of Object.entries(uncarried)) {
    findings.push({
      source,
      field,
      kind: 'uncarried',
      detail: 'null or empty, while source.list.authoritative_fields does not name it',
      seen,
    });
  }
  if (repeated > 0) {
    findings.push({
      source,
      field: 'unique_id',
      kind: 'repeated',
      detail: 'names calls more than once and counts each row',
      seen: repeated,
    });
  }
  return findings.sort((a, b) => (a.field < b.field ? -1 : a.field > b.field ? 1 : a.kind < b.kind ? -1 : 1));
};

/** Baseline of later tallies: fields in at least nine of ten records, once there are enough records. */
export const settledFields = (tally: FieldTally): string[] =>
  tally.records < enough
    ? []
    : [...tally.fields]
        .filter(([, { count }]) => count >= tally.records * 0.9)
        .map(([field]) => field)
        .sort();
