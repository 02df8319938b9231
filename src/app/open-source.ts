import { createHash } from 'node:crypto';
import type { Config } from '../../schemas/config.ts';
import { CallsyncError, terminal } from '../lib/errors.ts';
import { type Pause, wait } from '../lib/timing.ts';
import { trimSlashes } from '../lib/trim-slashes.ts';
import { createRequestLimiter, limitSpanMs, liveIdleMs, type RequestLimiter } from '../source/http/limiter.ts';
import type { KeptFacts } from '../source/list/facts.ts';
import { createSource, requestLimitRules, type Source } from '../source/source.ts';
import { keepMeta, readMeta, writeMeta } from '../store/meta.ts';
import { createSharedSlots } from '../store/request-limit.ts';
import type { Store } from '../store/store.ts';
import type { Services } from './services.ts';

/**
 * The service, with the request limiter that all workers share.
 * @param own limiter of this process, used without a store: by default a new limiter, which knows no earlier request.
 */
export const openSource = (services: Services, store?: Store, own?: RequestLimiter): Source => {
  const { source, sync } = services.config;
  const rules = requestLimitRules(source);
  const slots = store && createSharedSlots(store, { ...rules, name: 'source', liveIdleMs, spanMs: limitSpanMs(rules) });
  const pause = pauseOf(services, limitSpanMs(rules));
  const limiter = slots === undefined ? own : createRequestLimiter(slots, rules, pause);
  const kept = store && {
    proof: memoryOf<true>(store, 'source_answered', services.config),
    facts: factMemoryOf(store, services.config),
    pause,
  };
  const opened = createSource(source, { limiter, ...kept, clockSkewMs: sync.clock_skew });
  services.defer(() => opened.close());
  return opened;
};

const tellEveryMs = 60_000;

/**
 * Logs failures of the service, at most one a minute. A process that stops does not wait for the service.
 * @param ownMs waits for the request limit are shorter, unless the service blocks it
 */
const pauseOf = ({ log, stopping }: Services, ownMs: number): Pause => {
  let tellAt = 0;
  return async (ms, signal, failure) => {
    const isUsual = failure instanceof CallsyncError && failure.code === 'SERVICE_RATE_LIMIT';
    if (!isUsual && Date.now() >= tellAt) {
      tellAt = Date.now() + tellEveryMs;
      log('the service fails; callsync asks it again', { error: failure });
    }
    await wait(ms, isUsual && ms <= ownMs ? signal : AbortSignal.any([stopping, signal ?? stopping])).catch(() => {
      throw signal?.aborted ? signal.reason : failure;
    });
  };
};

/** Identifies a service. Another service has other calls, perhaps under the same ids. */
const identityOf = ({ source }: Config): Readonly<Record<string, string>> => ({
  base_url: trimSlashes(new URL(source.base_url).href),
  realm: source.realm ?? '',
  client_id: source.client_id ?? '',
});

/** Something that the source taught as it is configured: another list or version has yet to answer. */
const memoryOf = <T>(store: Store, key: string, config: Config) => {
  const { version, list } = config.source;
  const asked = JSON.stringify([identityOf(config), version, list]);
  const digest = createHash('sha256').update(asked).digest('hex');
  return {
    read: async () => {
      const kept = await readMeta<{ readonly digest: string; readonly value: T } | string>(store, key);
      // An earlier version kept the digest alone, of a source that answered.
      if (kept === undefined || typeof kept === 'string') return kept === digest ? (true as T) : undefined;
      return kept.digest === digest ? kept.value : undefined;
    },
    keep: (value: T) => writeMeta(store, key, { digest, value }),
  };
};

/** The facts about the list that earlier processes learned. */
export const factMemoryOf = (store: Store, config: Config) => memoryOf<KeptFacts>(store, 'list_facts', config);

/**
 * Keeps with the store which service its calls are of, before anything is read.
 * @param how `accept` takes the configured one from now on; `look` only compares.
 * @throws terminal CONFIG_SOURCE for another one
 */
export const claimSource = async (store: Store, config: Config, how: 'keep' | 'accept' | 'look' = 'keep') => {
  const own = identityOf(config);
  if (how === 'accept') return await writeMeta(store, 'source', own);
  const kept = how === 'keep' ? await keepMeta(store, 'source', own) : await readMeta<typeof own>(store, 'source');
  const others = Object.keys(own).filter((key) => kept !== undefined && kept[key] !== own[key]);
  if (others.length === 0) return;
  const told = others.map(
    (key) => `source.${key} ${key === 'client_id' ? 'is new' : `was ${kept?.[key] || 'not set'}`}`,
  );
  throw terminal('CONFIG_SOURCE', `The store holds calls of another service (${told.join(', ')}).`);
};

/** One request to the list, tried twice at most. @throws CallsyncError of the source */
export const askList = async ({ api, config }: Source, signal: AbortSignal): Promise<unknown> => {
  const url = api.address(config.list.path, Object.entries(config.list.params));
  const parse = ({ body }: { readonly body: Buffer }) => JSON.parse(body.toString('utf8')) as unknown;
  return (await api.get(url, parse, { signal, retries: 1 })).value;
};
