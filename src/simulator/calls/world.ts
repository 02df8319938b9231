/** The service's state: its calls, their versions and positions on both axes, and their changes as time passes. */

import type { CallDocument } from '../../../schemas/call.ts';
import type { EditKind, SimulatorSettings } from '../../../schemas/simulator.ts';
import { dayMs } from '../../lib/day.ts';
import { AxisIndex, everything, lowerBound } from './axis-index.ts';
import type { SimulatorClock } from './clock.ts';
import { generateCall, generateTags, generateTranscript } from './generate-call.ts';
import { planPopulation, statusOf } from './population.ts';
import { callIdOf, callIndexOf, fraction } from './random.ts';

type Population = ReturnType<typeof planPopulation>;

export type Axis = 'timestamp' | 'qualified';

type Place = { readonly timestamp: number; readonly qualified: number; readonly status: string };

/** Only calls that differ from the plan have one. */
interface CallState {
  readonly original: Place;
  readonly fields: CallDocument;
  current: Place;
  readonly edits: Edit[];
  deletedAt: number | undefined;
}

export interface EditRequest {
  readonly kinds?: readonly EditKind[];
  readonly patch?: CallDocument;
  /** Whether the end of processing becomes the time of the edit; seeded by `edits.requalifyShare` when absent. */
  readonly requalify?: boolean;
  readonly webhook?: boolean;
}

export interface InsertRequest {
  /** ISO 8601; the call's own time, now by default. */
  readonly timestamp?: string;
  /** ISO 8601; end of processing, now by default. */
  readonly qualified?: string;
  readonly status?: string;
  readonly fields?: CallDocument;
  readonly webhook?: boolean;
}

/** Everything that distinguishes a world from its plan. */
export interface WorldChanges {
  readonly count: number;
  readonly states: readonly (readonly [index: number, state: CallState])[];
}

/** Called when a record is due for a webhook. */
type SendListener = (index: number, version: number) => void;

export class World {
  readonly population: Population;
  readonly axes: Readonly<Record<Axis, AxisIndex>>;
  private readonly settings: SimulatorSettings;
  private readonly clock: SimulatorClock;
  private readonly states = new Map<number, CallState>();
  private readonly planned: readonly PlannedEdit[];
  private plannedAt = 0;
  /** Next planned call, in order of qualified, without an announcement of its processing. */
  private processedAt: number;
  /** Inserted calls that are not processed yet, by (qualified, index). */
  private readonly awaiting: { readonly at: number; readonly index: number }[] = [];
  private size: number;
  private listener: SendListener = () => undefined;

  constructor(settings: SimulatorSettings, clock: SimulatorClock) {
    this.settings = settings;
    this.clock = clock;
    const now = clock.now();
    const population = planPopulation(settings, now);
    this.population = population;
    this.axes = {
      timestamp: new AxisIndex(population.timestamps, undefined),
      qualified: new AxisIndex(population.qualified, population.byQualified),
    };
    this.size = population.count;
    this.planned = planEdits(settings, population);
    this.processedAt = lowerBound(population.count, (i) => this.plannedQualified(i) > now);
    this.advance();
  }

  private plannedQualified(position: number): number {
    return this.population.qualified[this.population.byQualified[position] as number] as number;
  }

  /** Calls ever known, planned and inserted. */
  get count(): number {
    return this.size;
  }

  onSend(listener: SendListener): void {
    this.listener = listener;
  }

  now(): number {
    return this.clock.now();
  }

  idOf(index: number): string {
    return callIdOf(this.settings.seed, index);
  }

  indexOf(callId: string): number | undefined {
    const index = callIndexOf(this.settings.seed, callId);
    return index !== undefined && index < this.size ? index : undefined;
  }

  placeOf(index: number): Place {
    return this.states.get(index)?.current ?? this.plannedPlace(index);
  }

  private plannedPlace(index: number): Place {
    const { timestamps, qualified } = this.population;
    return {
      timestamp: timestamps[index] as number,
      qualified: qualified[index] as number,
      status: statusOf(this.settings, index),
    };
  }

  /** Version of a call, from 1. */
  versionOf(index: number): number {
    return (this.states.get(index)?.edits.length ?? 0) + 1;
  }

  versionedAt(index: number, version: number): number {
    const state = this.states.get(index);
    return version === 1
      ? (state?.original ?? this.plannedPlace(index)).qualified
      : (state?.edits[version - 2]?.at ?? 0);
  }

  deletedAt(index: number): number | undefined {
    return this.states.get(index)?.deletedAt;
  }

  /** Whether the call list shows the call at a simulated time, now or shortly before: processed and not deleted. */
  isListed(index: number, at: number): boolean {
    const state = this.states.get(index);
    if (state === undefined) return (this.population.qualified[index] as number) <= at;
    const { deletedAt, original, edits } = state;
    const place = edits.findLast((edit) => edit.at <= at) ?? original;
    return (deletedAt === undefined || deletedAt > at) && original.qualified <= at && place.qualified <= at;
  }

  /** The version of a call at a simulated time. */
  versionAt(index: number, at: number): number {
    return (this.states.get(index)?.edits.filter((edit) => edit.at <= at).length ?? 0) + 1;
  }

  /** An instant as the truth tells it, in the precision by which the list filters. */
  formatTimestamp(ms: number): string {
    const text = new Date(ms).toISOString();
    return this.settings.calls.precision === 'seconds' ? `${text.slice(0, 19)}Z` : text;
  }

  /** An instant as records of this call show it. */
  printTimestamp(index: number, ms: number): string {
    const { precision, printedPrecision = precision, printedOffMs, printedZoneMinutes } = this.settings.calls;
    const off = Math.round((fraction(this.settings.seed, index, 61) * 2 - 1) * printedOffMs);
    const text = new Date(ms + off + (printedZoneMinutes ?? 0) * 60_000).toISOString();
    const zone = printedZoneMinutes === undefined ? 'Z' : '';
    return `${text.slice(0, printedPrecision === 'seconds' ? 19 : 23)}${zone}`;
  }

  /** The record as a webhook carries it, in any of its versions; `light` leaves the transcript null. */
  documentOf(index: number, version: number, light = false): CallDocument {
    const state = this.states.get(index);
    const original = state?.original ?? this.plannedPlace(index);
    const seed = {
      index,
      callId: this.idOf(index),
      timestampMs: original.timestamp,
      timestamp: this.printTimestamp(index, original.timestamp),
      status: original.status,
    };
    let document: CallDocument = { ...generateCall(this.settings, seed, light), ...state?.fields };
    for (let n = 1; n < version; n++) {
      const edit = state?.edits[n - 1] as Edit;
      const kinds = light ? edit.kinds.filter((kind) => kind !== 'transcript') : edit.kinds;
      document = applyEdit(this.settings, document, index, { ...edit, kinds }, n);
      document.status = edit.status;
      document.timestamp = this.printTimestamp(index, edit.timestamp);
    }
    return document;
  }

  qualifiedOf(index: number, version: number): number {
    const state = this.states.get(index);
    if (version > 1) return state?.edits[version - 2]?.qualified ?? 0;
    return (state?.original ?? this.plannedPlace(index)).qualified;
  }

  private stateOf(index: number): CallState {
    const known = this.states.get(index);
    if (known !== undefined) return known;
    const place = this.plannedPlace(index);
    const state: CallState = { original: place, fields: {}, current: place, edits: [], deletedAt: undefined };
    this.states.set(index, state);
    return state;
  }

  private floor(ms: number): number {
    return this.settings.calls.precision === 'seconds' ? Math.floor(ms / 1_000) * 1_000 : ms;
  }

  /** Changes a call; returns its new version. */
  edit(index: number, request: EditRequest, at = this.now()): number {
    const state = this.stateOf(index);
    const { edits, seed } = this.settings;
    const number = state.edits.length + 1;
    const kinds = request.kinds ?? (request.patch === undefined ? edits.kinds : []);
    const requalify = request.requalify ?? fraction(seed, index, 50 + number) < edits.requalifyShare;
    const { timestamp, qualified, status } = state.current;
    const patch = request.patch ?? {};
    const flipped = status === 'void' ? 'qualified' : 'void';
    const next: Place = {
      timestamp:
        patch.timestamp === undefined
          ? timestamp + (kinds.includes('timestamp') ? dayMs : 0)
          : Date.parse(String(patch.timestamp)),
      qualified: requalify && qualified <= at ? this.floor(at) : qualified,
      status: typeof patch.status === 'string' ? patch.status : kinds.includes('status') ? flipped : status,
    };
    state.edits.push({ at, kinds, patch, ...next });
    this.move(index, state, next);
    const webhook = request.webhook ?? fraction(seed, index, 80 + number) < edits.webhookShare;
    if (webhook && state.deletedAt === undefined) this.listener(index, number + 1);
    return number + 1;
  }

  private move(index: number, state: CallState, next: Place): void {
    const previous = state.current;
    for (const axis of ['timestamp', 'qualified'] as const) {
      if (previous[axis] !== next[axis]) this.axes[axis].place(index, next[axis], previous[axis]);
    }
    state.current = next;
  }

  /** Adds a call; returns its index. A webhook sends the processed call, unless the request says otherwise. */
  insert(request: InsertRequest): number {
    const now = this.now();
    const index = this.size++;
    const timestamp = this.floor(request.timestamp === undefined ? now : Date.parse(request.timestamp));
    const qualified = this.floor(request.qualified === undefined ? now : Date.parse(request.qualified));
    const status = request.status ?? statusOf(this.settings, index);
    const original: Place = { timestamp, qualified, status };
    this.states.set(index, {
      original,
      fields: request.fields ?? {},
      current: original,
      edits: [],
      deletedAt: undefined,
    });
    this.axes.timestamp.place(index, timestamp, undefined);
    this.axes.qualified.place(index, qualified, undefined);
    if (request.webhook ?? true) {
      if (qualified <= now) this.listener(index, 1);
      else this.await(index, qualified);
    }
    return index;
  }

  changes(): WorldChanges {
    return { count: this.size, states: [...this.states] };
  }

  /** Brings back the changes of an earlier world with the same plan. */
  restore({ count, states }: WorldChanges): void {
    for (const [index, state] of states) {
      const planned = index < this.population.count ? this.plannedPlace(index) : undefined;
      this.states.set(index, state);
      for (const axis of ['timestamp', 'qualified'] as const)
        if (planned?.[axis] !== state.current[axis]) this.axes[axis].place(index, state.current[axis], planned?.[axis]);
    }
    this.size = count;
  }

  private await(index: number, at: number): void {
    const position = lowerBound(this.awaiting.length, (i) => (this.awaiting[i]?.at ?? 0) > at);
    this.awaiting.splice(position, 0, { at, index });
  }

  /** Removes a call from the list permanently. */
  remove(index: number): void {
    this.stateOf(index).deletedAt ??= this.now();
  }

  /** Lets everything happen that was due until now, in order: calls become processed, planned edits are made. */
  advance(): void {
    const now = this.now();
    for (;;) {
      const processed =
        this.processedAt < this.population.count ? this.plannedQualified(this.processedAt) : Number.POSITIVE_INFINITY;
      const awaited = this.awaiting[0]?.at ?? Number.POSITIVE_INFINITY;
      const planned = this.planned[this.plannedAt];
      const edited = planned?.at ?? Number.POSITIVE_INFINITY;
      const first = Math.min(processed, awaited, edited);
      if (first > now) return;
      if (first === processed) this.announce(this.population.byQualified[this.processedAt++] as number);
      else if (first === awaited) this.announce(this.awaiting.shift()?.index as number);
      else this.editAsPlanned(planned as PlannedEdit, this.plannedAt++);
    }
  }

  private announce(index: number): void {
    if (this.deletedAt(index) === undefined) this.listener(index, this.versionOf(index));
  }

  private editAsPlanned(planned: PlannedEdit, number: number): void {
    if (this.deletedAt(planned.index) !== undefined) return;
    const { kinds } = this.settings.edits;
    this.edit(planned.index, { kinds: [kinds[number % kinds.length] as EditKind] }, planned.at);
  }

  /** Indices of the listed calls, in the order of the end of processing, from a simulated time on. */
  *listedSince(sinceMs: number): Iterable<number> {
    const found: number[] = [];
    const now = this.now();
    this.axes.qualified.scan({ ...everything, from: sinceMs }, (index) => {
      if (this.isListed(index, now)) found.push(index);
      return true;
    });
    yield* found;
  }
}

// Planned edits with their times, seeded, so that a late edit is known in advance, and the effect of an edit. Pure,
// so that every earlier version can be rebuilt.

interface PlannedEdit {
  /** Simulated milliseconds. */
  readonly at: number;
  readonly index: number;
}

const ageOf = (settings: SimulatorSettings, index: number): number => {
  const { maxAgeDays } = settings.edits;
  const at = fraction(settings.seed, index, 41);
  return Math.min(1, -Math.log(1 - at) / 5) * maxAgeDays * dayMs;
};

const planEdits = (settings: SimulatorSettings, population: Population): readonly PlannedEdit[] => {
  const { share } = settings.edits;
  if (share === 0) return [];
  const planned: PlannedEdit[] = [];
  for (let index = 0; index < population.count; index++) {
    if (fraction(settings.seed, index, 40) >= share) continue;
    planned.push({ at: Math.floor((population.qualified[index] as number) + 1_000 + ageOf(settings, index)), index });
  }
  return planned.sort((a, b) => a.at - b.at || a.index - b.index);
};

interface Edit {
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
const applyEdit = (settings: SimulatorSettings, document: CallDocument, index: number, edit: Edit, number: number) => {
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
    } else if (kind === 'visit') next.visit = { source: 'edit', pages: number };
  }
  return { ...next, ...edit.patch };
};
