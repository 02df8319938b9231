/** Every day that was read is judged by the schedule: a year, with a clock of its own. */
import { expect, test } from 'vitest';
import { listDays } from '../../../src/pipeline/reconcile/judged-days.ts';
import { planReconcile } from '../../../src/pipeline/reconcile/plan-reconcile.ts';
import type { ReconcileDeps } from '../../../src/pipeline/reconcile/reconcile-window.ts';
import { createSource } from '../../../src/source/source.ts';
import type { VerdictOutcome } from '../../../src/store/windows/verdicts.ts';
import { recordWindow } from '../../../src/store/windows/windows.ts';
import { configFor } from '../../source/local-server.ts';
import { usePipeline } from '../../support/pipeline.ts';
import { judge } from '../../support/verdicts.ts';
import { comparing, day } from './installation.ts';

const settings = { ...comparing, span: 30 * day, rowsDays: 1 };
const start = Date.parse('2023-01-01T00:00:00Z') * 1000;
const days = 365;

const here = usePipeline({}, { keep: true });

test('a year of days is judged in 12 runs, and all rows are compared every 30 days', async () => {
  const cursor_fields = [{ name: 'timestamp', from_param: 'from', to_param: 'to', record_field: 'timestamp' }];
  const source = createSource(configFor('http://127.0.0.1:9', { list: { cursor_fields } }));
  const begin = start + days * day + day / 2;
  let now = begin;
  const clock = () => new Date(now / 1000);
  const deps = { ...here.deps, source, now: clock, version: 'test', windows: { max: day } } as unknown as ReconcileDeps;
  const whole = { axis: 'timestamp', from: start, to: start + days * day };
  await recordWindow(here.store, { ...whole, calls: 1, shown: 'total', origin: 'test' });
  const unjudged = async () =>
    (await listDays(here.store, { axis: 'timestamp', warehouses: ['main'], to: now })).filter((one) => !one.judged);

  expect(await unjudged()).toHaveLength(days);
  const run = async (): Promise<void> => {
    const plan = await planReconcile(deps, settings, {});
    for (const window of plan.windows) {
      // The oldest day can never be judged; it must not hold up the others.
      const outcome: VerdictOutcome = window.from === start ? 'unproven' : 'proven';
      await judge(here.store, window, {
        ...{ axis: plan.axis, level: plan.level, warehouse_level: window.warehouseLevel, outcome, compared_at: now },
      });
    }
  };
  // 334 days are before the span: 30 of them in each run.
  for (const end = begin + 12 * day; now < end; now += day) await run();
  expect((await unjudged()).map((one) => one.from)).toEqual([start]);
  for (const end = now + 31 * day; now < end; now += day) await run();
  const all = await listDays(here.store, { axis: 'timestamp', warehouses: ['main'], to: now - settings.age });
  expect(all.filter((one) => one.judged && one.rowsAt < now - 32 * day)).toEqual([]);
  await source.close();
});
