/** Notices records of an unknown shape as they arrive. They are folded all the same. */
import type { Observation, ObservationSource } from '../../../schemas/observation.ts';
import type { Queryable } from '../../postgres/database.ts';
import { createTally, type DriftFinding, type FieldTally, windowFindings } from '../../source/list/drift.ts';
import { addSettledFields, readSettledFields, recordDrift } from '../../store/status/drift.ts';

export interface DriftWatch {
  /** Counts the fields of what was folded. Never rejects: drift must not hold up a call. */
  see(observations: readonly Observation[]): Promise<void>;
  /**
   * Notes fields that a window sent empty although nothing says that the list carries them, and calls that it listed
   * twice.
   */
  seeWindow(result: Parameters<typeof windowFindings>[1]): Promise<void>;
}

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
export const createDriftWatch = (
  store: Queryable,
  log: (event: string, fields: Record<string, unknown>) => void,
): DriftWatch => {
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
    state.before ??= new Set(await readSettledFields(store, source));
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
    if (settled.some((field) => !before.has(field))) {
      state.before = new Set(await addSettledFields(store, source, settled));
    }
  };

  const quietly = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      log('drift could not be recorded', { error });
    }
  };

  return {
    see: (observations) =>
      quietly(async () => {
        const sources = new Set<string>();
        for (const { source, fields, encoded } of observations) {
          sources.add(names[source]);
          stateOf(names[source]).tally.count(fields, encoded);
        }
        for (const source of sources) await compare(source, stateOf(source));
      }),
    seeWindow: (result) => quietly(() => recordDrift(store, windowFindings(names.poll, result))),
  };
};

const keyOf = ({ kind, field }: DriftFinding): string => `${kind} ${field}`;
