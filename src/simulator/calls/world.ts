/** The service's state: its calls, their versions and positions on both axes, and their changes as time passes. */

import type { CallDocument } from '../../../schemas/call.ts';
import type { EditKind, SimulatorSettings } from '../../../schemas/simulator.ts';
import { dayMs } from '../../lib/timestamps.ts';
import { createAxisIndex, everything } from './axis-index.ts';
import { generateContent, generateTags, generateTranscript } from './generate-call.ts';
import { planPopulation, statusOf } from './population.ts';
import { callIdOf, callIndexOf, fraction } from './random.ts';

const bothAxes = ['timestamp', 'qualified'] as const;
export type Axis = (typeof bothAxes)[number];

type Place = { readonly timestamp: number; readonly qualified: number; readonly status: string };

/** Only calls that differ from the plan have one. */
interface CallState {
  readonly original: Place;
  readonly fields: CallDocument;
  current: Place;
  readonly edits: Edit[];
  deletedAt: number | undefined;
  /** No webhook says that its processing has ended. */
  readonly isSilent?: boolean;
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

export type World = ReturnType<typeof createWorld>;

/** The world as it is planned, and its changes as time passes. */
export const createWorld = (settings: SimulatorSettings, clock: SimulatorClock) => {
  const { seed } = settings;
  const population = planPopulation(settings, clock.now());
  const states = new Map<number, CallState>();
  const keyOn = (axis: Axis, planned: Float64Array) => (index: number) =>
    states.get(index)?.current[axis] ?? (planned[index] as number);
  const axes = {
    timestamp: createAxisIndex([...population.timestamps.keys()], keyOn('timestamp', population.timestamps)),
    qualified: createAxisIndex([...population.byQualified], keyOn('qualified', population.qualified)),
  };
  /** All calls whose processing ended until then have been announced. */
  let announcedUntil = clock.now();
  let size = population.count;
  let listener: SendListener = () => undefined;

  const plannedPlace = (index: number): Place => ({
    timestamp: population.timestamps[index] as number,
    qualified: population.qualified[index] as number,
    status: statusOf(settings, index),
  });
  const originalOf = (index: number): Place => states.get(index)?.original ?? plannedPlace(index);
  const stateOf = (index: number): CallState => {
    const place = originalOf(index);
    const state = states.get(index) ?? { original: place, fields: {}, current: place, edits: [], deletedAt: undefined };
    states.set(index, state);
    return state;
  };
  /** Version of a call, from 1. */
  const versionOf = (index: number): number => (states.get(index)?.edits.length ?? 0) + 1;
  /** The edit that made a version; undefined for the first. */
  const editOf = (index: number, version: number): Edit | undefined => states.get(index)?.edits[version - 2];
  const deletedAt = (index: number): number | undefined => states.get(index)?.deletedAt;
  /** Whether the call list shows the call at a simulated time, now or shortly before: processed and not deleted. */
  const isListed = (index: number, at: number): boolean => {
    const state = states.get(index);
    if (state === undefined) return (population.qualified[index] as number) <= at;
    const { original, edits } = state;
    const place = edits.findLast((edit) => edit.at <= at) ?? original;
    const isGone = state.deletedAt !== undefined && state.deletedAt <= at;
    return !isGone && original.qualified <= at && place.qualified <= at;
  };
  const floor = (ms: number): number => (settings.calls.precision === 'seconds' ? Math.floor(ms / 1_000) * 1_000 : ms);

  /** An instant as records of this call show it. */
  const printTimestamp = (index: number, ms: number): string => {
    const { precision, printedPrecision = precision, printedOffMs, printedZoneMinutes } = settings.calls;
    const off = Math.round((fraction(seed, index, 61) * 2 - 1) * printedOffMs);
    const text = new Date(ms + off + (printedZoneMinutes ?? 0) * 60_000).toISOString();
    const zone = printedZoneMinutes === undefined ? 'Z' : '';
    return `${text.slice(0, printedPrecision === 'seconds' ? 19 : 23)}${zone}`;
  };

  /** Changes a call; returns its new version. */
  const edit = (index: number, request: EditRequest): number => {
    const at = clock.now();
    const state = stateOf(index);
    const number = state.edits.length + 1;
    const { patch = {}, kinds = request.patch === undefined ? settings.edits.kinds : [] } = request;
    const requalify = request.requalify ?? fraction(seed, index, 50 + number) < settings.edits.requalifyShare;
    const next = placeAfter(state.current, { kinds, patch, qualified: requalify ? floor(at) : undefined });
    state.edits.push({ at, kinds, patch, ...next });
    for (const axis of bothAxes) axes[axis].place(index, next[axis], state.current[axis]);
    state.current = next;
    const webhook = request.webhook ?? fraction(seed, index, 80 + number) < settings.edits.webhookShare;
    if (webhook && state.deletedAt === undefined) listener(index, number + 1);
    return number + 1;
  };

  /** Announces calls as their processing ends; a later edit may have moved a call on the axis. */
  const announceUntil = (at: number): void => {
    const before = announcedUntil;
    const due: number[] = [];
    axes.qualified.scan({ from: before + 1, to: at, toInclusive: true }, (index) => due.push(index) > 0);
    announcedUntil = Math.max(before, at);
    for (const index of due) {
      const { isSilent, deletedAt } = states.get(index) ?? {};
      if (isSilent === true || deletedAt !== undefined || originalOf(index).qualified <= before) continue;
      listener(index, versionOf(index));
    }
  };

  /** Lets everything happen that was due until now: calls become processed. */
  const advance = (): void => announceUntil(clock.now());
  advance();

  return {
    axes,
    /** Calls ever known, planned and inserted. */
    get count() {
      return size;
    },
    onSend: (send: SendListener): void => {
      listener = send;
    },
    now: clock.now,
    idOf: (index: number) => callIdOf(seed, index),
    indexOf: (callId: string): number | undefined => {
      const index = callIndexOf(seed, callId);
      return index !== undefined && index < size ? index : undefined;
    },
    placeOf: (index: number): Place => states.get(index)?.current ?? plannedPlace(index),
    versionOf,
    versionedAt: (index: number, version: number): number => editOf(index, version)?.at ?? originalOf(index).qualified,
    deletedAt,
    isListed,
    /** The version of a call at a simulated time. */
    versionAt: (index: number, at: number): number =>
      (states.get(index)?.edits.filter((one) => one.at <= at).length ?? 0) + 1,
    printTimestamp,
    /** The record as a webhook carries it, in any of its versions; `light` leaves the transcript null. */
    documentOf: (index: number, version: number, light = false): CallDocument => {
      const { timestamp, status } = originalOf(index);
      let document: CallDocument = {
        unique_id: callIdOf(seed, index),
        timestamp: printTimestamp(index, timestamp),
        ...generateContent(settings, index, timestamp, light),
        status,
        ...states.get(index)?.fields,
      };
      for (let n = 1; n < version; n++) {
        const made = editOf(index, n + 1) as Edit;
        const kinds = light ? made.kinds.filter((kind) => kind !== 'transcript') : made.kinds;
        document = applyEdit(settings, document, index, { ...made, kinds }, n);
        document.status = made.status;
        document.timestamp = printTimestamp(index, made.timestamp);
      }
      return document;
    },
    qualifiedOf: (index: number, version: number): number => (editOf(index, version) ?? originalOf(index)).qualified,
    edit,
    /** Adds a call; returns its index. A webhook sends the processed call, unless the request says otherwise. */
    insert: (request: InsertRequest): number => {
      const now = clock.now();
      const timeOf = (text: string | undefined): number => floor(text === undefined ? now : Date.parse(text));
      const index = size++;
      const [timestamp, qualified] = [timeOf(request.timestamp), timeOf(request.qualified)];
      const current: Place = { timestamp, qualified, status: request.status ?? statusOf(settings, index) };
      const isSilent = request.webhook === false;
      const fields = request.fields ?? {};
      states.set(index, { original: current, fields, current, edits: [], deletedAt: undefined, isSilent });
      for (const axis of bothAxes) axes[axis].place(index, current[axis], undefined);
      if (!isSilent && qualified <= announcedUntil) listener(index, 1);
      return index;
    },
    changes: (): WorldChanges => ({ count: size, states: [...states] }),
    /** Brings back the changes of an earlier world with the same plan. */
    restore: (changes: WorldChanges): void => {
      for (const [index, state] of changes.states) {
        const planned = index < population.count ? plannedPlace(index) : undefined;
        for (const axis of bothAxes) axes[axis].place(index, state.current[axis], planned?.[axis]);
        states.set(index, state);
      }
      size = changes.count;
    },
    /** Removes a call from the list permanently. */
    remove: (index: number): void => {
      stateOf(index).deletedAt ??= clock.now();
    },
    advance,
    /** Indices of the listed calls, in the order of the end of processing. */
    listed: (): readonly number[] => {
      const found: number[] = [];
      const now = clock.now();
      axes.qualified.scan(everything, (index) => {
        if (isListed(index, now)) found.push(index);
        return true;
      });
      return found;
    },
  };
};

// The effect of an edit. Pure, so that every earlier version can be rebuilt.

/** @param qualified new end of processing, unless the present one is later */
const placeAfter = (
  { timestamp, qualified: before, status }: Place,
  { kinds, patch, qualified = before }: Pick<Edit, 'kinds' | 'patch'> & { readonly qualified: number | undefined },
): Place => {
  const moved = timestamp + (kinds.includes('timestamp') ? dayMs : 0);
  const flipped = status === 'void' ? 'qualified' : 'void';
  return {
    timestamp: patch.timestamp === undefined ? moved : Date.parse(String(patch.timestamp)),
    qualified: Math.max(before, qualified),
    status: typeof patch.status === 'string' ? patch.status : kinds.includes('status') ? flipped : status,
  };
};

/** A change, and the call's place after it; `at` = when it happened, simulated milliseconds. */
type Edit = Place & { readonly at: number; readonly kinds: readonly EditKind[]; readonly patch: CallDocument };

/** Applies the content of the `number`-th edit (from 1); status and timestamp are set by the caller. */
const applyEdit = (settings: SimulatorSettings, document: CallDocument, index: number, edit: Edit, number: number) => {
  const next = { ...document };
  for (const kind of edit.kinds)
    if (kind === 'transcript')
      next.transcript_json = generateTranscript(settings, index, document.ivr_end as number, number);
    else if (kind === 'tags') next.tags = [...generateTags(settings, index, number)].slice(0, settings.calls.tags);
    else if (kind === 'metadata')
      next.metadata = { ...(document.metadata as object), UDF_text_01: `edit ${number}`, Agent: `agent-e${number}` };
    else if (kind === 'audio_state') next.audio_state = document.audio_state === 'AVAILABLE' ? 'MISSING' : 'AVAILABLE';
    else if (kind === 'visit') next.visit = { source: 'edit', pages: number };
  return { ...next, ...edit.patch };
};

/** The simulated service's clock: real time, shifted. */
export interface ClockChange {
  /** Sets the clock to this instant (ISO 8601). */
  readonly now?: string;
  readonly advanceSeconds?: number;
}

export type SimulatorClock = ReturnType<typeof createClock>;

/** @param start the first instant (ISO 8601); by default the real time. */
export const createClock = (start: string | undefined) => {
  let realBase = performance.now();
  let simBase = start === undefined ? Date.now() : Date.parse(start);
  /** Milliseconds since the epoch, whole. */
  const now = (): number => Math.floor(simBase + performance.now() - realBase);
  return {
    now,
    change(change: ClockChange): void {
      const current = change.now === undefined ? now() : Date.parse(change.now);
      realBase = performance.now();
      simBase = current + (change.advanceSeconds ?? 0) * 1000;
    },
  };
};
