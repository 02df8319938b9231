import { budgetMarginMs, createBudget, liveIdleMs } from '../../source/http/limiter.ts';
import { budgetRules, createSource, type Source } from '../../source/source.ts';
import { createSharedSlots } from '../../store/request-limit.ts';
import type { Store } from '../../store/store.ts';
import type { Services } from './services.ts';

/** The service, with the request budget that all workers share. */
export const openSource = (services: Services, store?: Store): Source => {
  const { source, sync } = services.config;
  const rules = budgetRules(source);
  const budget = store === undefined ? undefined : createBudget(slotsOf(store, rules), rules);
  const opened = createSource(source, { budget, clockSkewMs: sync.clock_skew });
  services.defer(() => opened.close());
  return opened;
};

/** Length in milliseconds of the rolling window of the request limit, as it is kept. */
export const limitSpanMs = (rules: ReturnType<typeof budgetRules>): number => rules.perMs + budgetMarginMs(rules);

const slotsOf = (store: Store, rules: ReturnType<typeof budgetRules>) =>
  createSharedSlots(store, {
    name: 'source',
    requests: rules.requests,
    live: rules.live,
    liveIdleMs,
    spanMs: limitSpanMs(rules),
  });
