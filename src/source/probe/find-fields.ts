/** Finds out what the records carry, what can be left out, how statuses filter, and whether one call can be asked for. */
import { knownCallFields } from '../../../schemas/call.ts';
import type { AxisConfig, ListConfig } from '../../../schemas/config/list.ts';
import { parseTimestamp } from '../list/timestamps.ts';
import type { Finding } from './finding.ts';
import {
  fieldsWithContent,
  findEffective,
  isRecord,
  isRefusal,
  type Look,
  type Params,
  type ProbeSession,
} from './session.ts';

const excludeParams = ['exclude', 'exclude_fields', 'excludeFields', 'omit', 'without', 'fields_exclude'];
/** Fields of the public reference that no webhook record has. */
const listOnly = new Set(['qualified', 'qualification']);

export interface Fields {
  readonly list: Partial<
    Pick<
      ListConfig,
      | 'carries'
      | 'exclude'
      | 'exclude_param'
      | 'status_param'
      | 'status'
      | 'status_values'
      | 'single_path'
      | 'order_param'
    >
  >;
  readonly orders: ReadonlyMap<string, string>;
  readonly findings: readonly Finding[];
}

export const findFields = async (
  session: ProbeSession,
  sample: Look,
  {
    listPath,
    sized,
    axes,
  }: { readonly listPath: string; readonly sized: Params; readonly axes: readonly AxisConfig[] },
): Promise<Fields> => {
  const carries = fieldsWithContent(sample.records);
  const lacking = knownCallFields.filter((name) => !carries.includes(name) && !listOnly.has(name));
  const findings: Finding[] = [
    {
      key: 'carries',
      found: `${carries.length} fields`,
      confidence: sample.records.length >= 20 ? 'likely' : 'guess',
      evidence: `each had content in at least one of ${sample.records.length} records`,
    },
    {
      key: 'fields the list lacks',
      found: lacking.length === 0 ? 'none' : lacking.join(', '),
      confidence: 'likely',
      evidence: 'fields of the webhook record without content in any record',
    },
  ];
  const exclude = await findExclude(session, sample, sized);
  const status = await findStatus(session, sample, sized);
  const single = await findSingle(session, sample, listPath);
  const order = await findOrder(session, sized, axes);
  return {
    list: { carries, ...exclude.list, ...status.list, ...single.list, ...order.list },
    orders: order.orders,
    findings: [...findings, exclude.finding, status.finding, single.finding, order.finding],
  };
};

/** Fields that make most of a record's weight, and objects without which a listing still names its calls. */
const heavyFields = (records: readonly Record<string, unknown>[]): string[] => {
  const weights = new Map<string, number>();
  let whole = 1;
  for (const record of records.slice(0, 20)) {
    for (const [name, value] of Object.entries(record)) {
      const weight = JSON.stringify(value)?.length ?? 0;
      weights.set(name, (weights.get(name) ?? 0) + weight);
      whole += weight;
    }
  }
  const named = ['transcript_json', 'tracking_info', 'qualification'];
  return [...weights]
    .filter(([name, weight]) => name !== 'unique_id' && (weight / whole > 0.3 || named.includes(name)))
    .map(([name]) => name);
};

type FindField = (
  session: ProbeSession,
  sample: Look,
  sized: Params,
) => Promise<{ list: Fields['list']; finding: Finding }>;

const findExclude: FindField = async (session, sample, sized) => {
  const heavy = heavyFields(sample.records);
  const none = {
    list: {},
    finding: {
      key: 'exclude_param',
      found: 'none',
      confidence: 'likely',
      evidence: 'no usual name left a field out',
    } as const,
  };
  const [heaviest] = [...heavy].sort((a, b) => weightOf(sample, b) - weightOf(sample, a));
  if (heaviest === undefined) return none;
  const without = (look: Look, name: string): boolean =>
    look.records.length > 0 && look.records.every((record) => record[name] === undefined || record[name] === null);
  const [param] = await findEffective(
    excludeParams,
    async (names) => {
      const look = await session.look({ ...sized, ...Object.fromEntries(names.map((name) => [name, heaviest])) });
      return isRefusal(look) || without(look, heaviest);
    },
    1,
  );
  if (param === undefined) return none;
  const together = await session.look({ ...sized, [param]: heavy.join(',') });
  const exclude = isRefusal(together) ? [heaviest] : heavy.filter((name) => without(together, name));
  if (!exclude.includes(heaviest)) return none;
  return {
    list: { exclude_param: param, exclude },
    finding: {
      key: 'exclude_param',
      found: `${param} leaves out ${exclude.join(', ')}`,
      confidence: 'sure',
      evidence: 'the fields were gone, the records were still there',
    },
  };
};

const weightOf = (sample: Look, name: string): number => JSON.stringify(sample.records[0]?.[name])?.length ?? 0;

const findStatus: FindField = async (session, sample, sized) => {
  const statuses = [...new Set(sample.records.map((record) => record.status))].filter(
    (status): status is string => typeof status === 'string',
  );
  const none = (evidence: string) => ({
    list: {},
    finding: { key: 'status_param', found: 'none', confidence: 'guess', evidence } as const,
  });
  const [one] = statuses;
  if (one === undefined || statuses.length < 2) return none('the sample holds fewer than two statuses');
  const look = await session.look({ ...sized, status: one });
  const filters = look.records.length > 0 && look.records.every((record) => record.status === one);
  if (!filters) return none('the parameter status had no effect');
  return {
    list: { status_param: 'status', status_values: statuses },
    finding: {
      key: 'status_param',
      found: 'status',
      confidence: 'sure',
      evidence: 'only records of the status asked for came',
    },
  };
};

const findSingle = async (
  session: ProbeSession,
  sample: Look,
  listPath: string,
): Promise<{ list: Fields['list']; finding: Finding }> => {
  const id = sample.records.find((record) => typeof record.unique_id === 'string')?.unique_id;
  const path = `${listPath.replace(/\/+$/, '')}/{unique_id}`;
  if (typeof id === 'string') {
    const look = await session.look({}, path.replace('{unique_id}', encodeURIComponent(id)));
    if (!isRefusal(look) && isRecord(look.body) && look.body.unique_id === id) {
      return {
        list: { single_path: path },
        finding: {
          key: 'single_path',
          found: path,
          confidence: 'sure',
          evidence: 'it gave the call that was asked for',
        },
      };
    }
  }
  return {
    list: {},
    finding: {
      key: 'single_path',
      found: 'none',
      confidence: 'likely',
      evidence: 'the list’s path with an id gave no call',
    },
  };
};

const findOrder = async (
  session: ProbeSession,
  sized: Params,
  axes: readonly AxisConfig[],
): Promise<{ list: Fields['list']; orders: ReadonlyMap<string, string>; finding: Finding }> => {
  const orders = new Map<string, string>();
  for (const param of axes.length < 2 ? [] : ['order', 'sort', 'order_by']) {
    const refused = await session.look({ ...sized, [param]: 'no_such_order' });
    if (!isRefusal(refused)) continue;
    for (const axis of axes) {
      const look = await session.look({ ...sized, [param]: axis.record_field });
      const times = look.records.flatMap((record) => parseTimestamp(record[axis.record_field]) ?? []);
      const sorted = times.every((time, index) => index === 0 || time >= (times[index - 1] ?? 0));
      if (!isRefusal(look) && times.length > 1 && sorted) orders.set(axis.name, axis.record_field);
    }
    if (orders.size > 0) {
      return {
        list: { order_param: param },
        orders,
        finding: {
          key: 'order_param',
          found: `${param} by ${[...orders.keys()].join(', ')}`,
          confidence: 'sure',
          evidence: 'the records came sorted so, and an unknown order was refused',
        },
      };
    }
  }
  return {
    list: {},
    orders,
    finding: { key: 'order_param', found: 'none', confidence: 'guess', evidence: 'not needed for reading' },
  };
};
