/** Finds out what the records carry, what can be left out, how statuses filter, and whether one call can be asked for. */
import { knownCallFields } from '../../../schemas/call.ts';
import type { ListConfig } from '../../../schemas/config/list.ts';
import { isEmpty } from '../list/observe.ts';
import { allAt, candidates, type Finding, findEffective, finding } from './candidates.ts';
import type { Sample } from './find-windows.ts';
import { isRecord, isRefusal, type Look } from './session.ts';

/** Fields of the public reference that no webhook record has. */
const listOnly = new Set(['qualified', 'qualification']);

/** What an answer to one question adds to the list, and what is said of it. */
type Found = readonly [list: Partial<ListConfig>, finding: Finding];

/** Which fields had content: what the list carries. Asks nothing. */
export const findCarries = ({ records }: Look): readonly [carries: string[], findings: readonly Finding[]] => {
  const carries = [
    ...new Set(
      records.flatMap((record) => Object.entries(record).flatMap(([name, value]) => (isEmpty(value) ? [] : [name]))),
    ),
  ];
  const lacking = knownCallFields.filter((name) => !carries.includes(name) && !listOnly.has(name));
  return [
    carries,
    [
      finding(
        'carries',
        `${carries.length} fields`,
        records.length >= 20 ? 'likely' : 'guess',
        `each had content in at least one of ${records.length} records`,
      ),
      finding(
        'fields the list lacks',
        lacking.join(', ') || 'none',
        'likely',
        'fields of the webhook record without content in any record',
      ),
    ],
  ];
};

/** @param listPath path of the list, below which single calls are looked for. */
export const findFields = async (sample: Sample, listPath: string): Promise<readonly Found[]> => [
  await findExclude(sample),
  await findStatus(sample),
  await findSingle(sample, listPath),
];

/** Fields that make most of a record's weight, heaviest first, and objects without which a listing still names its calls. */
const heavyFields = (records: readonly Record<string, unknown>[]): string[] => {
  const weights = new Map<string, number>();
  for (const record of records.slice(0, 20))
    for (const [name, value] of Object.entries(record))
      weights.set(name, (weights.get(name) ?? 0) + (JSON.stringify(value)?.length ?? 0));
  const whole = [...weights.values()].reduce((sum, weight) => sum + weight, 1);
  const named = ['transcript_json', 'tracking_info', 'qualification'];
  return [...weights]
    .filter(([name, weight]) => name !== 'unique_id' && (weight / whole > 0.3 || named.includes(name)))
    .sort(([, a], [, b]) => b - a)
    .map(([name]) => name);
};

const findExclude = async ({ session, look: sample, sized }: Sample): Promise<Found> => {
  const heavy = heavyFields(sample.records);
  const [heaviest] = heavy;
  const isWithout = (look: Look, name: string): boolean =>
    look.records.length > 0 && look.records.every((record) => record[name] === undefined || record[name] === null);
  const leavesOut = async (names: readonly string[]): Promise<boolean> => {
    const look = await session.look({ ...sized, ...allAt(names, heaviest ?? '') });
    return isRefusal(look) || isWithout(look, heaviest ?? '');
  };
  const [param] = heaviest === undefined ? [] : await findEffective(candidates.exclude, leavesOut, 1);
  if (param !== undefined && heaviest !== undefined) {
    const together = await session.look({ ...sized, [param]: heavy.join(',') });
    const exclude = isRefusal(together) ? [heaviest] : heavy.filter((name) => isWithout(together, name));
    const words = `${param} leaves out ${exclude.join(', ')}`;
    if (exclude.includes(heaviest))
      return [{ exclude_param: param, exclude }, finding('exclude_param', words, 'sure', 'the fields were gone')];
  }
  return [{}, finding('exclude_param', 'none', 'likely', 'no usual name left a field out')];
};

const findStatus = async ({ session, look: sample, sized }: Sample): Promise<Found> => {
  const statuses = [...new Set(sample.records.map(({ status }) => status))].filter((one) => typeof one === 'string');
  const [one] = statuses;
  const look = one === undefined || statuses.length < 2 ? undefined : await session.look({ ...sized, status: one });
  if (look !== undefined && look.records.length > 0 && look.records.every(({ status }) => status === one)) {
    const list = { status_param: 'status', status_values: statuses };
    return [list, finding('status_param', 'status', 'sure', 'only records of the status asked for came')];
  }
  return [
    {},
    finding('status_param', 'none', 'guess', 'fewer than two statuses were seen, or the parameter had no effect'),
  ];
};

const findSingle = async ({ session, look: sample }: Sample, listPath: string): Promise<Found> => {
  const id = sample.records.find(({ unique_id }) => typeof unique_id === 'string')?.unique_id;
  const path = `${listPath.replace(/\/+$/, '')}/{unique_id}`;
  const look =
    id === undefined ? undefined : await session.look({}, path.replace('{unique_id}', encodeURIComponent(String(id))));
  return look !== undefined && !isRefusal(look) && isRecord(look.body) && look.body.unique_id === id
    ? [{ single_path: path }, finding('single_path', path, 'sure', 'it gave the call that was asked for')]
    : [{}, finding('single_path', 'none', 'likely', 'the list’s path with an id gave no call')];
};
