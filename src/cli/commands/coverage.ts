import type { Config } from '../../../schemas/config.ts';
import { processedFieldOf } from '../../app/activity-deps.ts';
import { explain } from '../../app/open-health.ts';
import { withStore } from '../../app/services.ts';
import { drawCoverage, readCoverage } from '../../health/coverage/coverage.ts';
import { drawReasons } from '../../health/coverage/why.ts';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { beginOfDay, dateOf, dayMicros, nowMicros } from '../../lib/timestamps.ts';
import { chooseAxis } from '../../pipeline/read/choose-axis.ts';
import { type JudgedDay, listDays } from '../../pipeline/reconcile/judged-days.ts';
import { rowsWithin } from '../../pipeline/reconcile/plan-reconcile.ts';
import type { Store } from '../../store/store.ts';
import { describeAltered } from '../../store/windows/verdicts.ts';
import { instant, leaf, parsed } from '../shell/define.ts';
import { lines, tellTimes } from '../shell/output.ts';
import { toOption } from '../shell/range.ts';

const defaultDays = 30;

/** How many days that were read have no good verdict yet. */
const describeUnjudged = async (config: Config, store: Store, now: number) => {
  const chosen = chooseAxis(config.source.list, processedFieldOf(config));
  const asked = chosen && { axis: chosen.axis, warehouses: Object.keys(config.warehouses), to: now };
  const listed = asked === undefined ? [] : await listDays(store, asked);
  if (listed.length === 0) return { days: 0, lines: [] };
  const unjudged = listed.filter((one) => !one.judged);
  const days = unjudged.length;
  const isCompared = (one: JudgedDay): boolean => one.judged && one.rowsAt >= now - rowsWithin;
  const level = `Proven: ${countOf(listed.length - days, 'day')}; rows compared in the last 30 days: ${listed.filter(isCompared).length}; other days: guards only (docs/explanation/completeness.md).`;
  const waiting = `Read days that wait for a comparison: ${days}. callsync reconcile --from ${dateOf((unjudged[0]?.from ?? now) / 1000)} compares them now.`;
  return { days, lines: days === 0 ? [level] : [level, waiting] };
};

export default leaf({
  options: {
    from: parsed('--from <instant>', `start of the range (UTC); ${defaultDays} days ago by default`, instant),
    to: toOption,
    day: parsed('--day <date>', 'say why this day (UTC) is not proven, and what settles it', instant),
  },
  examples: ['callsync coverage', 'callsync coverage --from 2025-01-01', 'callsync coverage --day 2025-01-31'],
  remarks: 'Exit code 5: verdicts were altered, or with --day, the day is not proven.',
  within: withStore,
  run: async (options, store, { config }) => {
    const now = nowMicros();
    const { day } = options;
    if (day !== undefined && day > now) throw terminal('USAGE_RANGE', 'The day has not begun.');
    const { from = day ?? beginOfDay(now) - defaultDays * dayMicros, to = day === undefined ? now : day + dayMicros } =
      options;
    const range = { from, to };
    const altered = await describeAltered(store, range);
    const warning = altered && `${altered} callsync verdicts checks all of them.`;
    if (day !== undefined) {
      const reasons = await explain(config, store, day);
      const date = dateOf(day / 1000);
      const proven = reasons.length === 0 && altered === undefined;
      const said = tellTimes({ day: date, proven, reasons, altered });
      return [said, lines(drawReasons(date, reasons), warning), !proven && 'incomplete'];
    }
    const coverage = await readCoverage(store, { range, warehouses: Object.keys(config.warehouses), now });
    const unjudged = await describeUnjudged(config, store, now);
    const text = lines(drawCoverage(coverage), unjudged.lines, warning);
    return [tellTimes({ ...coverage, unjudged, altered }), text, altered !== undefined && 'incomplete'];
  },
});
