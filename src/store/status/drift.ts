/** Differences between records and the known fields of their source, with their first time. */

import { callFields } from '../../../schemas/call.ts';
import type { Observation, ObservationSource } from '../../../schemas/observation.ts';
import { knownField } from '../../calls/own-fields.ts';
import type { JsonRecord } from '../../lib/json-record.ts';
import { type Queryable, unnest } from '../../postgres/database.ts';
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

/** Counts and last times grow; the first time stays. */
const recordDrift = async (db: Queryable, entries: readonly DriftFinding[]): Promise<void> => {
  if (entries.length === 0) return;
  const types = { source: 'text', field: 'text', kind: 'text', detail: 'text', seen: 'bigint' } as const;
  await db.query`INSERT INTO drift AS d (source, field, kind, detail, seen)
     SELECT * FROM ${unnest(entries, types)} ORDER BY source, field, kind
     ON CONFLICT (source, field, kind)
     DO UPDATE SET seen = d.seen + excluded.seen, detail = excluded.detail, last_seen = now()`;
};

/** All entries, by source and then by when they were first seen. */
export const listDrift = (db: Queryable) =>
  db.query<DriftFinding & { firstSeen: Date; lastSeen: Date }>`
     SELECT source, field, kind, coalesce(detail, '') AS detail, seen, first_seen AS "firstSeen", last_seen AS "lastSeen"
       FROM drift ORDER BY source, first_seen, field, kind`;

/** Deletes recorded drift, such as after a change of the configuration. Returns the number of entries. */
export const clearDrift = async (db: Queryable) => (await db.query`DELETE FROM drift RETURNING 1`).length;

/** Fields that nearly all records of the source have. */
const settledKey = (source: string): string => `fields:${source}`;

// Compares the fields of arriving records with the known fields: new, vanished and mistyped ones, per source. Drift
// does not stop the fold.

export type DriftWatch = ReturnType<typeof createDriftWatch>;

const names: Readonly<Record<ObservationSource, string>> = { poll: 'list', webhook: 'webhook', import: 'import' };
/** Fewest records after which a field that none of them has counts as vanished, and counts are stored without a new finding. */
const enough = 20;
const flushMs = 30_000;
/** A source whose field names never end is reported by this many. */
const mostFindings = 500;
/** A field name as findings have it: an index takes no key of any length. */
const shorten = (field: string): string => field.slice(0, 512).toWellFormed();

/** How many records had a field, by the type of its value. */
type FieldCounts = Map<string, number>;

/** The records since counts were last stored, and their fields. */
const beginWatch = () => ({
  fields: new Map<string, FieldCounts>(),
  records: 0,
  before: undefined as ReadonlySet<string> | undefined,
  reported: new Set<string>(),
  flushedAt: Number.NEGATIVE_INFINITY,
});
type Watched = ReturnType<typeof beginWatch>;

/** One per process: counting is cheap, and the store is asked only for a new finding or after half a minute. */
export const createDriftWatch = (store: Queryable, log: (event: string, fields: Record<string, unknown>) => void) => {
  const watched = { poll: beginWatch(), webhook: beginWatch(), import: beginWatch() };

  const compare = async (source: string, state: Watched): Promise<void> => {
    state.before ??= new Set(await readMeta<string[]>(store, settledKey(source)));
    const { fields, records, before, reported } = state;
    const findings = listFindings(source, state, before).filter(
      (finding) => reported.has(keyOf(finding)) || reported.size < mostFindings,
    );
    const isEnough = records >= enough;
    const isDue = isEnough && performance.now() - state.flushedAt > flushMs;
    if (!isDue && findings.every((finding) => reported.has(keyOf(finding)))) return;
    state.fields = new Map();
    state.records = 0;
    if (isEnough) state.flushedAt = performance.now();
    for (const finding of findings) reported.add(keyOf(finding));
    await recordDrift(store, findings);
    // Baseline of later counts.
    const most = isEnough ? records * 0.9 : Number.POSITIVE_INFINITY;
    const settled = [...fields].flatMap(([field, types]) => (sumOf(types) < most ? [] : field));
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
        const sources = new Set(observations.map(({ source }) => source));
        for (const { source, fields } of observations) countFields(watched[source], fields);
        for (const source of sources) await compare(names[source], watched[source]);
      }),
    /**
     * Records fields that are empty in a window although authoritative_fields does not name them, and calls that the window listed twice.
     */
    seeWindow: (result: Parameters<typeof windowFindings>[1]) =>
      quietly(() => recordDrift(store, windowFindings(names.poll, result))),
  };
};

const keyOf = ({ kind, field }: DriftFinding): string => `${kind} ${field}`;
const sumOf = (types: FieldCounts): number => [...types.values()].reduce((sum, times) => sum + times, 0);

/** Counts the top-level fields of one record; fields kept as bytes stay unparsed. */
const countFields = (state: Watched, record: JsonRecord): void => {
  state.records++;
  for (const field of record.names) {
    if (field === knownField) continue;
    const name = shorten(field);
    const types = state.fields.get(name) ?? new Map<string, number>();
    state.fields.set(name, types);
    const type = record.type(field);
    types.set(type, (types.get(type) ?? 0) + 1);
  }
};

/**
 * Compares with the fields that interface §2.1 shows and with those that the source carried before, in nearly every record.
 * Findings name fields and types, never values.
 */
const listFindings = (source: string, { fields, records }: Watched, before: ReadonlySet<string>): DriftFinding[] => {
  const vanished = records < enough ? [] : [...before].filter((field) => !fields.has(field));
  const gone = { source, kind: 'vanished', detail: 'carried before, absent now', seen: records } as const;
  return [
    ...[...fields].flatMap(([field, types]) => findingsOf(source, field, types)),
    ...vanished.map((field) => ({ ...gone, field })),
  ];
};

const findingsOf = (source: string, field: string, types: FieldCounts): DriftFinding[] => {
  const shown = callFields.get(field)?.types;
  const strange = new Map([...types].filter(([type]) => shown?.includes(type) !== true));
  if (strange.size === 0) return [];
  const given = [...strange.keys()].sort().join(' or ');
  const found = { source, field, seen: sumOf(strange) };
  return shown === undefined
    ? [{ ...found, kind: 'new', detail: `a field the interface does not show, as ${given}` }]
    : [{ ...found, kind: 'type', detail: `${given} instead of ${shown.join(' or ')}` }];
};

type SeenWindow = Readonly<Record<'repeated' | 'conflicting', number>> & {
  readonly uncarried: Readonly<Record<string, number>>;
};

/**
 * Findings about a whole window of a list.
 * @param input.uncarried how often fields came empty without being known to be carried (`WindowResult.uncarried`).
 * @param input.repeated rows by which the list named and counted a call once more (`WindowResult.repeated`).
 * @param input.conflicting calls of which one answer had two records (`WindowResult.conflicting`).
 */
const windowFindings = (source: string, { uncarried, repeated, conflicting }: SeenWindow): DriftFinding[] => {
  const empty = 'null or empty, while source.list.authoritative_fields does not name it';
  const findings = Object.entries(uncarried).map(
    ([field, seen]): DriftFinding => ({ source, field: shorten(field), kind: 'uncarried', detail: empty, seen }),
  );
  const twice = 'names calls more than once and counts each row';
  const other =
    'names calls twice in one answer, with other content; callsync keeps one record of each, always the same';
  const [detail, seen] = conflicting > 0 ? [other, conflicting] : [twice, repeated];
  if (seen > 0) findings.push({ source, field: 'unique_id', kind: 'repeated', detail, seen });
  return findings;
};
