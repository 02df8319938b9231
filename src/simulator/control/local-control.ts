/** The control of a simulator in this process. */
import type { CallDocument } from '../../../schemas/call.ts';
import { type SimulatorOptions, type SimulatorSettings, simulatorOptionsSchema } from '../../../schemas/simulator.ts';
import { terminal } from '../../lib/errors.ts';
import { isObject } from '../../lib/parse-json.ts';
import { hash32 } from '../calls/random.ts';
import { documentAt, type TruthEntry, type TruthQuery, truthAt, truthOf } from '../calls/truth.ts';
import type { ClockChange, EditRequest, InsertRequest, SimulatorClock, World } from '../calls/world.ts';
import { dialectOf } from '../service/dialects.ts';
import type { TokenStore } from '../service/token-endpoint.ts';
import type { DeliveryRecord, WebhookSender } from '../service/webhook-sender.ts';
import type { WebSocketEndpoint } from '../service/websocket-endpoint.ts';
import type { Counters } from './stats.ts';

/** Selects calls: by id, or as a seeded choice among the listed ones. */
interface CallChoice {
  readonly callIds?: readonly string[];
  /** How many listed calls, chosen by `seed`. */
  readonly random?: number;
  readonly seed?: number;
}

type ChangedCall = { readonly callId: string; readonly version: number };

const fixed = ['seed', 'host', 'port', 'calls', 'edits', 'clock', 'staticPages', 'keep'] as const;
const replaced = ['dialectOverrides', 'listAdds'];

/** Sections to change while the service runs. Absent sections stay. */
type RuntimeOptions = Omit<SimulatorOptions, (typeof fixed)[number]>;
type Json = Record<string, unknown>;

const mergeSettings = (current: Json, change: Json): Json => {
  const merged: Json = { ...current };
  for (const [name, value] of Object.entries(change)) {
    if (fixed.some((one) => one === name))
      throw terminal('SIMULATOR_OPTION_FIXED', `The simulator cannot change ${name} while it runs.`);
    merged[name] =
      isObject(value) && isObject(current[name]) && !replaced.includes(name) ? { ...current[name], ...value } : value;
  }
  return merged;
};

/** Actions of tests and users on a running simulator. The same over HTTP: `POST /__sim/{method}`, arguments as JSON. */
export const createControl = (parts: {
  readonly settings: SimulatorSettings;
  readonly clock: SimulatorClock;
  readonly world: World;
  readonly sender: WebhookSender;
  readonly tokens: TokenStore;
  readonly counters: Counters;
  readonly sockets: WebSocketEndpoint;
}) => {
  const { settings, clock, world, sender, tokens, counters, sockets } = parts;
  const choose = (choice: CallChoice): number[] => {
    world.advance();
    if (choice.callIds !== undefined)
      return choice.callIds.map((callId) => {
        const index = world.indexOf(callId);
        if (index === undefined)
          throw terminal('SIMULATOR_CALL_UNKNOWN', 'The simulator has no call with that identifier.');
        return index;
      });
    const { random = 1, seed = 1 } = choice;
    const ranked = world.listed().map((index) => [hash32(seed, index, 96), index] as const);
    return ranked
      .sort((a, b) => a[0] - b[0])
      .slice(0, random)
      .map(([, index]) => index);
  };
  const configure = async (options: RuntimeOptions): Promise<void> => {
    const next = simulatorOptionsSchema.parse(mergeSettings(settings as unknown as Json, options as Json));
    dialectOf(next.dialect, next.dialectOverrides);
    Object.assign(settings, next);
  };
  return {
    configure,
    async stats() {
      world.advance();
      return counters.snapshot({ known: world.count, now: new Date(world.now()).toISOString() });
    },

    /** Every call that can be identified, in index order. */
    truth: (query: TruthQuery = {}): AsyncIterable<TruthEntry> => truthOf(parts, query),

    async truthOf(callId: string): Promise<TruthEntry | undefined> {
      const index = world.indexOf(callId);
      return index === undefined ? undefined : truthAt(parts, index, false);
    },

    /**
     * The document of a client if this version were the current one. `delivered` replaces the version of the last
     * acknowledged webhook, because a failed one may have been stored.
     */
    async documentAt(callId: string, version: number, delivered?: number): Promise<CallDocument | undefined> {
      const index = world.indexOf(callId);
      if (index === undefined || version < 1 || version > world.versionOf(index)) return undefined;
      return documentAt(parts, index, version, delivered);
    },

    /** Settled deliveries in the order in which they were settled. */
    async *deliveries(): AsyncIterable<DeliveryRecord> {
      yield* sender.deliveries;
    },

    async setClock(change: ClockChange): Promise<{ readonly now: string }> {
      clock.change(change);
      world.advance();
      return { now: new Date(clock.now()).toISOString() };
    },

    async edit(request: CallChoice & EditRequest): Promise<readonly ChangedCall[]> {
      return choose(request).map((index) => ({ callId: world.idOf(index), version: world.edit(index, request) }));
    },

    async insert(request: InsertRequest & { readonly count?: number }): Promise<readonly ChangedCall[]> {
      world.advance();
      const { count = 1 } = request;
      return Array.from({ length: count }, () => ({ callId: world.idOf(world.insert(request)), version: 1 }));
    },

    async delete(choice: CallChoice): Promise<readonly ChangedCall[]> {
      return choose(choice).map((index) => {
        world.remove(index);
        return { callId: world.idOf(index), version: world.versionOf(index) };
      });
    },

    /** Sends calls that are processed from now on. Merges into the `webhooks` section first. */
    async startWebhooks(settings: RuntimeOptions['webhooks'] = {}): Promise<void> {
      world.advance();
      await configure({ webhooks: settings });
      sender.start();
    },

    /** Queues no new delivery; `discard` also drops the waiting ones. */
    async stopWebhooks(discard = false): Promise<void> {
      world.advance();
      sender.stop(discard);
    },

    /** Queues the current version of calls at once, even before the sender starts. Returns their number. */
    async sendWebhooks(choice: CallChoice & { readonly count?: number }): Promise<number> {
      const whole = choice.callIds === undefined && choice.random === undefined;
      world.advance();
      const indices = whole ? world.listed() : choose(choice);
      let queued = 0;
      for (const index of indices) {
        if (queued >= (choice.count ?? Number.POSITIVE_INFINITY)) break;
        if (sender.enqueue(index, world.versionOf(index))) queued++;
      }
      return queued;
    },

    /** Resolves when nothing waits or is in flight. */
    async drainWebhooks(): Promise<void> {
      world.advance();
      await sender.drained();
    },

    /** Every issued token becomes unknown. */
    revokeTokens: async () => tokens.revoke(),

    /** Drops all WebSocket connections and refuses new ones for a while. */
    restartWebSocket: async (downMs = 0) => sockets.restart(downMs),
    closeWebSockets: async (code = 1001) => sockets.closeAll(code),
  };
};

export type SimulatorControl = ReturnType<typeof createControl>;

/** Methods that answer a list, one JSON value a line; the others answer one JSON value. */
const listMethods: readonly string[] = ['truth', 'deliveries'] satisfies readonly (keyof SimulatorControl)[];

/** Whether the method answers a list. */
export const isList = (method: string): boolean => listMethods.includes(method);
