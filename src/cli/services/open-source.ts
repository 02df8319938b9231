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

const slotsOf = (store: Store, rules: ReturnType<typeof budgetRules>) =>
  createSharedSlots(store, {
    name: 'source',
    requests: rules.requests,
    live: rules.live,
    liveIdleMs,
    spanMs: rules.perMs + budgetMarginMs(rules),
  });
