/** Finds out which parameters cut the list by time, by which field of the record, and what their bounds mean. */
import type { AxisConfig, ListConfig } from '../../../schemas/config/list.ts';
import { formatStep, formatTimestamp, type Micros, parseTimestamp, type TimeFormat } from '../list/timestamps.ts';
import type { Finding } from './finding.ts';
import { findEffective, isRefusal, type Look, type Params, type ProbeSession, timeFields } from './session.ts';

export type BoundNames = readonly [from: string, to: string];

const usualBounds: readonly BoundNames[] = [
  ['timestamp_from', 'timestamp_to'],
  ['qualified_from', 'qualified_to'],
  ['from', 'to'],
  ['since', 'until'],
  ['start', 'end'],
  ['start_date', 'end_date'],
  ['start_time', 'end_time'],
  ['created_after', 'created_before'],
  ['date_from', 'date_to'],
  ['dateFrom', 'dateTo'],
  ['from_date', 'to_date'],
  ['startDate', 'endDate'],
  ['startTime', 'endTime'],
  ['fromDate', 'toDate'],
  ['after', 'before'],
  ['updated_after', 'updated_before'],
  ['updated_from', 'updated_to'],
  ['created_from', 'created_to'],
  ['processed_from', 'processed_to'],
  ['begin', 'finish'],
];

export interface Windows {
  readonly list: Pick<ListConfig, 'axes' | 'time_format' | 'time_resolution_ms' | 'from_inclusive' | 'to_inclusive'>;
  readonly findings: readonly Finding[];
}

const farFuture = Date.UTC(2999, 0, 1) * 1000;
const formats: readonly TimeFormat[] = ['iso', 'epoch_ms', 'epoch_s', 'iso_seconds'];

/** @param sample enough records to choose times from. @param sized parameters that make pages as large as possible. */
export const findWindows = async (
  session: ProbeSession,
  sample: Look,
  sized: Params,
  extra: readonly BoundNames[],
): Promise<Windows> => {
  const fields = timeFields(sample.records);
  const nothing = (evidence: string): Windows => ({
    list: { axes: [], time_format: 'iso', time_resolution_ms: 1, from_inclusive: true, to_inclusive: true },
    findings: [{ key: 'axes', found: 'none', confidence: 'likely', evidence }],
  });
  if (fields.length === 0 || sample.records.length === 0) return nothing('no field of the records holds a time');
  const candidates = [...extra, ...usualBounds];
  const answersFuture = async (
    some: readonly BoundNames[],
    format: TimeFormat,
  ): Promise<'none' | 'empty' | 'refused'> => {
    const bound = formatTimestamp(farFuture, format);
    const look = await session.look({ ...sized, ...Object.fromEntries(some.map(([from]) => [from, bound])) });
    return isRefusal(look) ? 'refused' : look.records.length === 0 ? 'empty' : 'none';
  };
  const effective = await findEffective(candidates, async (some) => (await answersFuture(some, 'iso')) !== 'none');
  const numeric =
    effective.length > 0
      ? []
      : await findEffective(candidates, async (some) => (await answersFuture(some, 'epoch_ms')) !== 'none');
  const found: { axis: AxisConfig; format: TimeFormat; finding: Finding }[] = [];
  for (const names of [...effective, ...numeric]) {
    const axis = await identifyAxis(session, names, sample, fields, sized);
    if (axis !== undefined && !found.some((one) => one.axis.name === axis.axis.name)) found.push(axis);
  }
  const [first] = found;
  if (first === undefined) {
    const cutting = [...effective, ...numeric].map((names) => names.join(' and ')).join(', ');
    const none = nothing(`none of ${candidates.length} usual pairs of names cut the list by a time of its records`);
    if (cutting === '') return none;
    const contradiction = {
      key: 'contradiction',
      found: 'between window parameters and the times of records',
      confidence: 'sure',
      evidence: `${cutting} had an effect, but what came lay outside: times may be local, or of another field`,
    } as const;
    return { ...none, findings: [...none.findings, contradiction] };
  }
  const bounds = await findBounds(session, first.axis, first.format, sample, sized);
  const times = sample.records.flatMap((record) => parseTimestamp(record[first.axis.record_field]) ?? []);
  const wholeSeconds = times.every((time) => time % 1_000_000 === 0);
  const resolution = wholeSeconds ? 1_000 : formatStep(first.format) / 1_000;
  return {
    list: {
      axes: found.filter((one) => one.format === first.format).map((one) => one.axis),
      time_format: first.format,
      time_resolution_ms: resolution,
      from_inclusive: bounds.from,
      to_inclusive: bounds.to,
    },
    findings: [
      ...found.map((one) => one.finding),
      {
        key: 'time_format',
        found: first.format,
        confidence: 'sure',
        evidence: 'bounds in this form cut the list where they should',
      },
      bounds.finding,
      {
        key: 'time_resolution_ms',
        found: String(resolution),
        confidence: 'likely',
        evidence: wholeSeconds ? 'all times seen are whole seconds' : 'times carry fractions of a second',
      },
    ],
  };
};

/** A range part of times in the middle of the sample that holds some of its records but not all. */
const partOf = (times: readonly Micros[]): readonly [Micros, Micros] | undefined => {
  const sorted = [...new Set(times)].sort((a, b) => a - b);
  if (sorted.length < 3) return undefined;
  const from = sorted[Math.floor(sorted.length / 3)] ?? 0;
  const to = sorted[Math.min(sorted.length - 2, Math.floor((2 * sorted.length) / 3))] ?? 0;
  return to > from ? [from, to] : [from, from + 1_000_000];
};

const identifyAxis = async (
  session: ProbeSession,
  [fromParam, toParam]: BoundNames,
  sample: Look,
  fields: readonly string[],
  sized: Params,
): Promise<{ axis: AxisConfig; format: TimeFormat; finding: Finding } | undefined> => {
  for (const format of formats) {
    const step = formatStep(format);
    for (const field of likelyFirst(fields, fromParam)) {
      const part = partOf(sample.records.flatMap((record) => parseTimestamp(record[field]) ?? []));
      if (part === undefined) continue;
      const from = Math.floor(part[0] / step) * step;
      const to = Math.ceil(part[1] / step) * step;
      const look = await session.look({
        ...sized,
        [fromParam]: formatTimestamp(from, format),
        [toParam]: formatTimestamp(to, format),
      });
      if (isRefusal(look)) break;
      if (look.records.length === 0) continue;
      const holds = (name: string): boolean =>
        look.records.every((record) => {
          const time = parseTimestamp(record[name]);
          return time === undefined || (time >= from && time <= to);
        });
      const cutBy = likelyFirst(fields, fromParam).filter(holds);
      const [best] = cutBy;
      // Records of the sample that are outside the part must be gone.
      if (best === undefined || sample.ids.every((id) => look.ids.includes(id))) continue;
      const processing = /qualif|process|complet|finish|updat|modif/i.test(best);
      return {
        format,
        axis: {
          name: best,
          from_param: fromParam,
          to_param: toParam,
          record_field: best,
          end_of_processing: processing,
        },
        finding: {
          key: 'axes',
          found: `${fromParam} and ${toParam} cut by ${best}${processing ? ' (taken as the end of processing)' : ''}`,
          confidence: cutBy.length === 1 ? 'sure' : 'likely',
          evidence: `all ${look.records.length} records of a part lay inside it, others were gone`,
        },
      };
    }
  }
  return undefined;
};

/** A parameter usually bears the name of its field; the call's own time comes next. */
const likelyFirst = (fields: readonly string[], param: string): string[] => {
  const rank = (field: string): number =>
    param.toLowerCase().startsWith(field.toLowerCase()) ? 0 : field === 'timestamp' ? 1 : 2;
  return [...fields].sort((a, b) => rank(a) - rank(b));
};

const findBounds = async (
  session: ProbeSession,
  axis: AxisConfig,
  format: TimeFormat,
  sample: Look,
  sized: Params,
): Promise<{ readonly from: boolean; readonly to: boolean; readonly finding: Finding }> => {
  const step = Math.max(formatStep(format), 1_000_000);
  const index = sample.records.findIndex(
    (record) => (parseTimestamp(record[axis.record_field]) ?? 1) % formatStep(format) === 0,
  );
  const time = parseTimestamp(sample.records[index]?.[axis.record_field]);
  const id = sample.ids[index];
  if (time === undefined || id === undefined) {
    return {
      from: false,
      to: false,
      finding: {
        key: 'from_inclusive',
        found: 'exclusive',
        confidence: 'guess',
        evidence: 'no record is exactly on a bound that can be written; asking wider is always right',
      },
    };
  }
  const has = async (from: Micros, to: Micros): Promise<boolean> => {
    const bounds = {
      [axis.from_param ?? '']: formatTimestamp(from, format),
      [axis.to_param ?? '']: formatTimestamp(to, format),
    };
    return (await session.look({ ...sized, ...bounds })).ids.includes(id);
  };
  const both = await has(time, time);
  const from = both || (await has(time, time + step));
  const to = both || (await has(time - step, time));
  return {
    from,
    to,
    finding: {
      key: 'from_inclusive, to_inclusive',
      found: `lower bound ${from ? 'inclusive' : 'exclusive'}, upper bound ${to ? 'inclusive' : 'exclusive'}`,
      confidence: 'sure',
      evidence: 'a record was asked for by its exact time',
    },
  };
};
