/** Finds out which parameters cut the list by time, by which field of the record, and what their bounds mean. */
import type { AxisConfig, ListConfig } from '../../../schemas/config/list.ts';
import { formatStep, formatTimestamp, type Micros, parseTimestamp, type TimeFormat } from '../../lib/timestamps.ts';
import { type BoundNames, candidates, type Finding, findEffective, finding } from './candidates.ts';
import { isRefusal, type Look, type Params, type ProbeSession, timeFields } from './session.ts';

export interface Windows {
  readonly list: Pick<ListConfig, 'axes' | 'time_format' | 'time_resolution_ms' | 'from_inclusive' | 'to_inclusive'>;
  readonly findings: readonly Finding[];
}

/** What windows are tried on: enough records to choose times from, and the parameters that gave them. */
export interface Sample {
  readonly session: ProbeSession;
  readonly look: Look;
  readonly sized: Params;
}

const farFuture = Date.UTC(2999, 0, 1) * 1000;
const formats: readonly TimeFormat[] = ['iso', 'epoch_ms', 'epoch_s', 'iso_seconds'];

/** @param extra names to try before the usual ones. */
export const findWindows = async (sample: Sample, extra: readonly BoundNames[]): Promise<Windows> => {
  const { session, look, sized } = sample;
  const names = [...extra, ...candidates.bounds];
  const hidesAll =
    (format: TimeFormat) =>
    async (some: readonly BoundNames[]): Promise<boolean> => {
      const bounds = Object.fromEntries(some.map(([from]) => [from, formatTimestamp(farFuture, format)]));
      const asked = await session.look({ ...sized, ...bounds });
      return isRefusal(asked) || asked.records.length === 0;
    };
  let effective = await findEffective(names, hidesAll('iso'));
  if (effective.length === 0) effective = await findEffective(names, hidesAll('epoch_ms'));
  const found: FoundAxis[] = [];
  for (const one of effective) {
    const axis = await identifyAxis(sample, one, formats);
    if (axis !== undefined && !found.some(({ axis: { name } }) => name === axis.axis.name)) found.push(axis);
  }
  const [first] = found;
  if (first === undefined) {
    const evidence = `none of ${names.length} usual pairs of names cut the list by a time of its records`;
    const cutting = effective.map((one) => one.join(' and ')).join(', ');
    const contradiction = finding(
      'contradiction',
      'between window parameters and the times of records',
      'sure',
      `${cutting} had an effect, but what came lay outside: times may be local, or of another field`,
    );
    return {
      list: { axes: [], time_format: 'iso', time_resolution_ms: 1, from_inclusive: true, to_inclusive: true },
      findings: [finding('axes', 'none', 'likely', evidence), ...(cutting === '' ? [] : [contradiction])],
    };
  }
  const { axis, format } = first;
  const [from, to] = await findInclusive(sample, axis, format);
  const isWhole = timesOf(look, axis.record_field).every((time) => time % 1_000_000 === 0);
  const resolution = isWhole ? 1_000 : formatStep(format) / 1_000;
  const side = (isInclusive: boolean): string => (isInclusive ? 'inclusive' : 'exclusive');
  return {
    list: {
      axes: found.filter((one) => one.format === format).map((one) => one.axis),
      time_format: format,
      time_resolution_ms: resolution,
      from_inclusive: from,
      to_inclusive: to,
    },
    findings: [
      ...found.map(({ axis: one, evidence }) =>
        finding('axes', `${one.from_param} and ${one.to_param} cut by ${one.record_field}`, 'likely', evidence),
      ),
      finding('time_format', format, 'sure', 'bounds in this form cut the list where they should'),
      finding(
        'from_inclusive, to_inclusive',
        `lower bound ${side(from)}, upper bound ${side(to)}`,
        'likely',
        'a record was asked for by its exact time',
      ),
      finding('time_resolution_ms', String(resolution), 'likely', 'the fractions of the times that were seen'),
    ],
  };
};

const timesOf = (look: Look, field: string): Micros[] =>
  look.records.flatMap((record) => parseTimestamp(record[field]) ?? []);

/** A range of times in the middle of the sample that holds some of its records but not all. */
const partOf = (times: readonly Micros[]): readonly [Micros, Micros] | undefined => {
  const sorted = [...new Set(times)].sort((a, b) => a - b);
  if (sorted.length < 3) return undefined;
  const from = sorted[Math.floor(sorted.length / 3)] ?? 0;
  const to = sorted[Math.min(sorted.length - 2, Math.floor((2 * sorted.length) / 3))] ?? 0;
  return to > from ? [from, to] : [from, from + 1_000_000];
};

interface FoundAxis {
  readonly axis: AxisConfig;
  readonly format: TimeFormat;
  readonly evidence: string;
}

/** The field by which two parameters cut the list, and the first of the formats in which they do. */
export const identifyAxis = async (
  { session, look: sample, sized }: Sample,
  [fromParam, toParam]: BoundNames,
  tried: readonly TimeFormat[],
): Promise<FoundAxis | undefined> => {
  const fields = likelyFirst(timeFields(sample.records), fromParam);
  for (const format of tried) {
    const step = formatStep(format);
    for (const field of fields) {
      const part = partOf(timesOf(sample, field));
      if (part === undefined) continue;
      const [from, to] = [Math.floor(part[0] / step) * step, Math.ceil(part[1] / step) * step];
      const bounds = { [fromParam]: formatTimestamp(from, format), [toParam]: formatTimestamp(to, format) };
      const look = await session.look({ ...sized, ...bounds });
      if (isRefusal(look)) break;
      const best = fields.find((name) => timesOf(look, name).every((time) => time >= from && time <= to));
      // Records of the sample that are outside the part must be gone.
      if (look.records.length === 0 || best === undefined || sample.ids.every((id) => look.ids.includes(id))) continue;
      const isProcessing = /qualif|process|complet|finish|updat|modif/i.test(best);
      return {
        format,
        axis: {
          name: best,
          from_param: fromParam,
          to_param: toParam,
          record_field: best,
          end_of_processing: isProcessing,
        },
        evidence: `all ${look.records.length} records of a part lay inside it, others were gone${isProcessing ? '; taken as the end of processing' : ''}`,
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

/** Whether each bound belongs to the window; exclusive where nothing shows it, because asking wider is always right. */
const findInclusive = async (
  { session, look, sized }: Sample,
  axis: AxisConfig,
  format: TimeFormat,
): Promise<readonly [from: boolean, to: boolean]> => {
  const times = look.records.map((record) => parseTimestamp(record[axis.record_field]) ?? Number.NaN);
  const index = times.findIndex((time) => time % formatStep(format) === 0);
  const [time, id] = [times[index], look.ids[index]];
  if (time === undefined || id === undefined) return [false, false];
  const step = Math.max(formatStep(format), 1_000_000);
  const has = async (from: Micros, to: Micros): Promise<boolean> => {
    const [fromParam = '', toParam = ''] = [axis.from_param, axis.to_param];
    const bounds = { [fromParam]: formatTimestamp(from, format), [toParam]: formatTimestamp(to, format) };
    return (await session.look({ ...sized, ...bounds })).ids.includes(id);
  };
  if (await has(time, time)) return [true, true];
  return [await has(time, time + step), await has(time - step, time)];
};
