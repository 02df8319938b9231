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
  readonly records: number;
  /** Counts the top-level fields of one record; those that are kept as bytes are not parsed for it. */
  count(document: CallDocument, encoded?: EncodedFields): void;
  /**
   * Compares with the fields that interface §2.1 shows and with those that the source carried before. Findings name fields
   * and types, never values.
   * @param before fields that this source carried before, in nearly every record; see `settled`.
   */
  findings(before: ReadonlySet<string>): DriftFinding[];
  /** Baseline of later tallies: fields in at least nine of ten records, once there are enough records. */
  settled(): string[];
}

interface CountedField {
  count: number;
  readonly types: Map<string, number>;
}

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

/** Records without a field after which it counts as vanished. */
const enough = 20;

/** A tally of no records. */
export const createTally = (source: string): FieldTally => {
  const fields = new Map<string, CountedField>();
  let records = 0;
  return {
    get records() {
      return records;
    },
    count: (document, encoded) => {
      records++;
      for (const name of Object.keys(document)) {
        const bytes = encoded?.get(name);
        const field = fields.get(name) ?? { count: 0, types: new Map<string, number>() };
        fields.set(name, field);
        field.count++;
        const type = bytes === undefined ? typeOf(document[name]) : typeOfBytes(bytes);
        field.types.set(type, (field.types.get(type) ?? 0) + 1);
      }
    },
    findings: (before) => {
      const vanished = records < enough ? [] : [...before].filter((field) => !fields.has(field));
      return [
        ...[...fields].flatMap(([field, counted]) => findingsOf(source, field, counted)),
        ...vanished.map((field): DriftFinding => {
          return { source, field, kind: 'vanished', detail: 'carried before, absent now', seen: records };
        }),
      ].sort((a, b) => (a.field < b.field ? -1 : a.field > b.field ? 1 : a.kind < b.kind ? -1 : 1));
    },
    settled: () =>
      records < enough ? [] : [...fields].flatMap(([field, { count }]) => (count < records * 0.9 ? [] : field)).sort(),
  };
};

/** No number and no literal is long enough to be kept as bytes. */
const typeOfBytes = (bytes: Buffer): string => (bytes[0] === 0x7b ? 'object' : bytes[0] === 0x5b ? 'array' : 'string');

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

const known = new Set(knownCallFields);

const findingsOf = (source: string, field: string, { count, types }: CountedField): DriftFinding[] => {
  const findings: DriftFinding[] = [];
  if (!known.has(field)) {
    const detail = `a field the interface does not show, as ${[...types.keys()].sort().join(' or ')}`;
    findings.push({ source, field, kind: 'new', detail, seen: count });
  }
  const shown = shownTypes.get(field);
  const strange = [...types].filter(([type]) => shown?.includes(type) === false);
  if (shown !== undefined && strange.length > 0) {
    const given = strange.map(([type]) => type).sort();
    const detail = `${given.join(' or ')} instead of ${shown.join(' or ')}`;
    findings.push({ source, field, kind: 'type', detail, seen: strange.reduce((sum, [, times]) => sum + times, 0) });
  }
  return findings;
};

/**
 * Findings about a whole window of a list.
 * @param input.uncarried how often fields came empty without being known to be carried (`WindowResult.uncarried`).
 * @param input.repeated rows by which the list named and counted a call once more (`WindowResult.repeated`).
 */
export const windowFindings = (
  source: string,
  { uncarried, repeated }: { readonly uncarried: Readonly<Record<string, number>>; readonly repeated: number },
): DriftFinding[] => {
  const empty = 'null or empty, while source.list.authoritative_fields does not name it';
  const findings = Object.entries(uncarried).map(([field, seen]): DriftFinding => {
    return { source, field, kind: 'uncarried', detail: empty, seen };
  });
  const twice = 'names calls more than once and counts each row';
  if (repeated > 0) findings.push({ source, field: 'unique_id', kind: 'repeated', detail: twice, seen: repeated });
  return findings;
};
