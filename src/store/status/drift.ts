/** Differences between records and the known fields of their source, with their first time. */

import { type CallDocument, knownCallFields, shownTypes } from '../../../schemas/call.ts';
import type { Observation, ObservationSource } from '../../../schemas/observation.ts';
import type { EncodedFields } from '../../lib/parse-json.ts';
import { columnsOf, type Queryable } from '../../postgres/database.ts';
import { addToMeta, readMeta } from '../meta.ts';

interface DriftFinding {
  /** `list`, `webhook` or `import`. */
  readonly source: string;
  readonly field: string;
  readonly kind: 'new' | 'vanished' | 'uncarried' | 'type' | 'repeated';
  /** In words, never a value. */
  readonly detail: string;
  /** Records that showed it. */
  readonly seen: number;
}

interface RecordedDrift extends DriftFinding {
  readonly firstSeen: Date;
  readonly lastSeen: Date;
}

/** Counts and last times grow; the first time stays. */
const recordDrift = async (db: Queryable, entries: readonly DriftFinding[]): Promise<void> => {
  if (entries.length === 0) return;
  await db.query(
    `INSERT INTO drift AS d (source, field, kind, detail, seen)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS u(source, field, kind, detail, seen)
      ORDER BY source, field, kind
     ON CONFLICT (source, field, kind)
     DO UPDATE SET seen = d.seen + excluded.seen, detail = excluded.detail, last_seen = now()`,
    columnsOf(entries, 'source', 'field', 'kind', 'detail', 'seen'),
  );
};

/** All entries, by source and then by when they were first seen. */
export const listDrift = async (db: Queryable): Promise<RecordedDrift[]> =>
  await db.query<RecordedDrift>(
    `SELECT source, field, kind, coalesce(detail, '') AS detail, seen, first_seen AS "firstSeen", last_seen AS "lastSeen"
       FROM drift ORDER BY source, first_seen, field, kind`,
  );

/** Deletes recorded drift, such as after a change of the configuration. Returns the number of entries. */
export const clearDrift = async (db: Queryable): Promise<number> =>
  (await db.query('DELETE FROM drift RETURNING 1')).length;

/** Fields that nearly all records of the source have. */
const settledKey = (source: string): string => `fields:${source}`;

// Compares the fields of arriving records with the known fields: new, vanished and mistyped ones, per source. Drift
// does not stop the fold.

export type DriftWatch = ReturnType<typeof createDriftWatch>;

const names: Readonly<Record<ObservationSource, string>> = { poll: 'list', webhook: 'webhook', import: 'import' };
/** Fewest records, and the time, after which counts without a new finding are stored. */
const enoughRecords = 20;
const flushMs = 30_000;
/** A source whose field names never end is reported by this many. */
const mostFindings = 500;

interface Watched {
  tally: FieldTally;
  before: ReadonlySet<string> | undefined;
  readonly reported: Set<string>;
  flushedAt: number;
}

/** One per process: counting is cheap, and the store is asked only for a new finding or after half a minute. */
export const createDriftWatch = (store: Queryable, log: (event: string, fields: Record<string, unknown>) => void) => {
  const watched = new Map<string, Watched>();

  const stateOf = (source: string): Watched => {
    const state = watched.get(source) ?? {
      tally: createTally(source),
      before: undefined,
      reported: new Set(),
      flushedAt: -Infinity,
    };
    watched.set(source, state);
    return state;
  };

  const compare = async (source: string, state: Watched): Promise<void> => {
    state.before ??= new Set(await readMeta<string[]>(store, settledKey(source)));
    const { tally, before } = state;
    const findings = tally
      .findings(before)
      .filter((finding) => state.reported.has(keyOf(finding)) || state.reported.size < mostFindings);
    const unheard = findings.some((finding) => !state.reported.has(keyOf(finding)));
    const due = tally.records >= enoughRecords && performance.now() - state.flushedAt > flushMs;
    if (!unheard && !due) return;
    state.tally = createTally(source);
    if (tally.records >= enoughRecords) state.flushedAt = performance.now();
    for (const finding of findings) state.reported.add(keyOf(finding));
    await recordDrift(store, findings);
    const settled = tally.settled();
    if (settled.some((field) => !before.has(field)))
      state.before = new Set(await addToMeta(store, settledKey(source), settled));
  };

  const quietly = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      log('drift could not be recorded', { error });
    }
  };

  return {
    /** Counts the fields of folded records. Never rejects, because drift must not delay a call. */
    see: (observations: readonly Observation[]) =>
      quietly(async () => {
        const sources = new Set<string>();
        for (const { source, fields, encoded } of observations) {
          sources.add(names[source]);
          stateOf(names[source]).tally.count(fields, encoded);
        }
        for (const source of sources) await compare(source, stateOf(source));
      }),
    /**
     * Records fields that are empty in a window although authoritative_fields does not name them, and calls that the window listed twice.
     */
    seeWindow: (result: Parameters<typeof windowFindings>[1]) =>
      quietly(() => recordDrift(store, windowFindings(names.poll, result))),
  };
};

const keyOf = ({ kind, field }: DriftFinding): string => `${kind} ${field}`;

/** Fields that some records of one source carried. */
type FieldTally = ReturnType<typeof createTally>;

type CountedField = { count: number; readonly types: Map<string, number> };

/** Records without a field after which it counts as vanished. */
const enough = 20;

/** A tally of no records. */
const createTally = (source: string) => {
  const fields = new Map<string, CountedField>();
  let records = 0;
  return {
    get records() {
      return records;
    },
    /** Counts the top-level fields of one record; fields kept as bytes stay unparsed. */
    count: (document: CallDocument, encoded?: EncodedFields) => {
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
    /**
     * Compares with the fields that interface §2.1 shows and with those that the source carried before. Findings name
     * fields and types, never values. @param before fields that this source carried before, in nearly every record;
     * see `settled`.
     */
    findings: (before: ReadonlySet<string>) => {
      const vanished = records < enough ? [] : [...before].filter((field) => !fields.has(field));
      return [
        ...[...fields].flatMap(([field, counted]) => findingsOf(source, field, counted)),
        ...vanished.map(
          (field): DriftFinding => ({
            source,
            field,
            kind: 'vanished',
            detail: 'carried before, absent now',
            seen: records,
          }),
        ),
      ].sort((a, b) => (a.field < b.field ? -1 : a.field > b.field ? 1 : a.kind < b.kind ? -1 : 1));
    },
    /** Baseline of later tallies: fields in at least nine of ten records, once there are enough records. */
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
  const shown = Object.hasOwn(shownTypes, field) ? shownTypes[field] : undefined;
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
const windowFindings = (
  source: string,
  { uncarried, repeated }: { readonly uncarried: Readonly<Record<string, number>>; readonly repeated: number },
): DriftFinding[] => {
  const empty = 'null or empty, while source.list.authoritative_fields does not name it';
  const findings = Object.entries(uncarried).map(
    ([field, seen]): DriftFinding => ({ source, field, kind: 'uncarried', detail: empty, seen }),
  );
  const twice = 'names calls more than once and counts each row';
  if (repeated > 0) findings.push({ source, field: 'unique_id', kind: 'repeated', detail: twice, seen: repeated });
  return findings;
};
