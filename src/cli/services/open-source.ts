import {
  createRequestLimiter,
  liveIdleMs,
  type RequestLimiter,
  requestLimitMarginMs,
} from '../../source/http/limiter.ts';
import { createSource, requestLimitRules, type Source } from '../../source/source.ts';
import { createSharedSlots } from '../../store/request-limit.ts';
import type { Store } from '../../store/store.ts';
import type { Services } from './services.ts';

/**
 * The service, with the request limiter that all workers share.
 * @param own limiter of this process, used without a store: by default a new one, which knows of no earlier request.
 */
export const openSource = (services: Services, store?: Store, own?: RequestLimiter): Source => {
  const { source, sync } = services.config;
  const rules = requestLimitRules(source);
  const limiter = store === undefined ? own : createRequestLimiter(slotsOf(store, rules), rules);
  const opened = createSource(source, { limiter, clockSkewMs: sync.clock_skew });
  services.defer(() => opened.close());
  return opened;
};

/** Length in milliseconds of the rolling window of the request limit, as it is kept. */
export const limitSpanMs = (rules: ReturnType<typeof requestLimitRules>): number =>
  rules.perMs + requestLimitMarginMs(rules);

const slotsOf = (store: Store, rules: ReturnType<typeof requestLimitRules>) =>
  createSharedSlots(store, {
    name: 'source',
    requests: rules.requests,
    live: rules.live,
    liveIdleMs,
    spanMs: limitSpanMs(rules),
  });
