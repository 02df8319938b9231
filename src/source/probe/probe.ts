/** `callsync probe`: finds out with few requests how a call list works (interface §4.2, §4.4 and §8 do not say). */
import {
  type AxisConfig,
  type ListConfig,
  listConfigSchema,
  type PaginationConfig,
} from '../../../schemas/config/list.ts';
import type { SourceConfig } from '../../../schemas/config/source.ts';
import { CallsyncError, terminal } from '../../lib/errors.ts';
import type { RequestLimiter } from '../http/limiter.ts';
import { wait } from '../http/wait.ts';
import { valueAt } from '../json/json-path.ts';
import { listPresets } from '../presets/presets.ts';
import { createSource, findTokenFormat, type Source } from '../source.ts';
import { type BoundNames, type Finding, finding } from './candidates.ts';
import { findCarries, findFields } from './find-fields.ts';
import { findCounted, findPaging, findSizeParam, openTrial, type Paging } from './find-paging.ts';
import { findWindows, identifyAxis } from './find-windows.ts';
import { createProbeSession, findRecordsPath, isRefusal, type Look, type ProbeSession, ProbeSpent } from './session.ts';

interface PresetFit {
  readonly preset: string;
  readonly description: string;
}

export interface ProbeOptions {
  readonly config: SourceConfig;
  /** Never more requests to the call API than this. */
  readonly maxRequests?: number;
  /** Further pairs of window parameters to try, before the usual ones. */
  readonly bounds?: readonly BoundNames[];
  readonly limiter?: RequestLimiter;
}

export interface ProbeReport {
  readonly findings: readonly Finding[];
  /** What goes under `source.list`. */
  readonly list: ListConfig;
  /** What goes under `source` beside it. */
  readonly authScheme: string;
  readonly tokenFormat: SourceConfig['token_format'];
  readonly preset: PresetFit | undefined;
  readonly requests: number;
  readonly maxRequests: number;
  /** False when the requests ran out before every question was answered. */
  readonly complete: boolean;
}

/** Enough for every question, on a service that answers the usual names. */
export const defaultProbeRequests = 100;

/**
 * Asks the list with the configured credentials, address and version; whatever the configuration says of the list
 * beyond its path is not used. Presets come first: one whose parameters work is taken whole.
 * @throws CallsyncError for what stops any reading: refused credentials, a wrong address, no records to see.
 */
export const probeSource = async (options: ProbeOptions): Promise<ProbeReport> => {
  const { config, maxRequests = defaultProbeRequests } = options;
  const { source, session, base, authScheme, tokenFormat } = await openList(options, maxRequests);
  const recordsPath = findRecordsPath(base.body);
  try {
    if (recordsPath === undefined || base.records.length === 0) throw nothingToSee(base);
    session.recordsPath = recordsPath;
    session.isLive = await seesNewCalls(session);
    const named = base.records.filter((record) => typeof record.unique_id === 'string').length;
    const findings: Finding[] = [
      finding('auth_scheme', authScheme, 'sure', 'the list answered to it'),
      ...(tokenFormat === config.token_format
        ? []
        : [finding('token_format', tokenFormat, 'sure', `the token was refused as ${config.token_format}`)]),
      finding(
        'records',
        recordsPath === '' ? 'the body itself' : recordsPath,
        named === base.records.length ? 'sure' : 'likely',
        `${base.records.length} records there, with unique_id in ${named}`,
      ),
    ];
    const list: Record<string, unknown> = { path: config.list.path, records: recordsPath, params: config.list.params };
    const filling = { session, base, list, findings, recordsPath };
    let preset: PresetFit | undefined;
    let complete = true;
    try {
      preset = await fitPreset(filling, authScheme);
      if (preset === undefined) await fillIn(filling, options.bounds ?? []);
    } catch (error) {
      if (!(error instanceof ProbeSpent)) throw error;
      complete = false;
      findings.push(finding('the rest', 'not asked', 'unknown', `the ${session.limit} allowed requests were used up`));
    }
    const headers = [...session.rateHeaders].join(', ') || 'none';
    findings.push(finding('rate-limit headers', headers, 'sure', `over ${session.used} answers`));
    const parsed = listConfigSchema.parse(list);
    return { findings, list: parsed, authScheme, tokenFormat, preset, requests: session.used, maxRequests, complete };
  } finally {
    await source.close();
  }
};

interface Filling {
  readonly session: ProbeSession;
  readonly base: Look;
  /** What goes under `source.list`, filled in as it is found. */
  readonly list: Record<string, unknown>;
  readonly findings: Finding[];
  readonly recordsPath: string;
}

/** The preset whose records, total, paging and windows all work here; `list` then has its settings. */
const fitPreset = async (filling: Filling, authScheme: string): Promise<PresetFit | undefined> => {
  const { session, base, list, findings, recordsPath } = filling;
  for (const { name, description, config } of await listPresets()) {
    const source = config.source as { readonly list?: object; readonly auth_scheme?: string } | undefined;
    // Without its filter of statuses: what the probe sees without one is what the list has.
    const settings = { ...source?.list, path: list.path, params: list.params, status: undefined };
    const preset = listConfigSchema.parse(settings);
    const { pagination, total_path, axes, time_format } = preset;
    const isUnlike =
      (source?.auth_scheme ?? 'bearer').toLowerCase() !== authScheme.toLowerCase() ||
      preset.records !== recordsPath ||
      (total_path !== undefined && typeof valueAt(base.body, total_path) !== 'number');
    if (isUnlike || pagination?.style !== 'offset') continue;
    if ((await findSizeParam(session, base, [pagination.size_param])) === undefined) continue;
    const trial = await openTrial(session, base, pagination.size_param);
    if ((await findCounted(trial, 'offset', [pagination.offset_param])) === undefined) continue;
    const sized = { [pagination.size_param]: String(Math.min(100, pagination.size)) };
    const sample = { session, sized, look: await session.look(sized) };
    const cuts = async ({ from_param = '', to_param = '', record_field }: AxisConfig): Promise<boolean> =>
      (await identifyAxis(sample, [from_param, to_param], [time_format]))?.axis.record_field === record_field;
    let isCut = true;
    for (const axis of axes) isCut &&= await cuts(axis);
    if (!isCut) continue;
    const [carries, carried] = findCarries(sample.look);
    Object.assign(list, settings, { carries });
    findings.push(finding('preset', name, 'sure', 'its records, total, pages and windows all work'), ...carried);
    return { preset: name, description };
  }
  return undefined;
};

/** Question after question, where no preset fits. */
const fillIn = async (filling: Filling, bounds: readonly BoundNames[]): Promise<void> => {
  const { session, base, list, findings, recordsPath } = filling;
  const { pagination, total, findings: paged } = await findPaging(session, base, recordsPath);
  findings.push(...paged);
  Object.assign(list, { pagination, ...total });
  const { size_param } = pagination;
  const sized = size_param === undefined ? {} : { [size_param]: String(Math.min(100, pagination.size)) };
  const sample = { session, sized, look: await session.look(sized) };
  const windows = await findWindows(sample, bounds);
  findings.push(...windows.findings, ...findContradiction(base, pagination, total));
  const [carries, carried] = findCarries(sample.look);
  Object.assign(list, windows.list, { carries });
  findings.push(...carried);
  for (const [found, said] of await findFields(sample, String(list.path))) {
    Object.assign(list, found);
    findings.push(said);
  }
};

/** What cannot all be true: the user has to ask the service which of it holds. */
const findContradiction = (base: Look, { style }: PaginationConfig, total: Paging['total']): readonly Finding[] => {
  const { total_path, total_header = '' } = total;
  const said = Number(total_path === undefined ? base.headers[total_header] : valueAt(base.body, total_path));
  if (style !== 'none' || !(said > base.records.length)) return [];
  const evidence = `the total says ${said}, one response holds ${base.records.length}, and no way to the rest was found`;
  return [finding('contradiction', 'between pagination.style and the total', 'sure', evidence)];
};

/** Long enough to see a call come where many do; where few do, pages hardly move while the probe lasts. */
const liveWaitMs = 400;

const seesNewCalls = async (session: ProbeSession): Promise<boolean> => {
  const before = await session.front();
  await wait(liveWaitMs);
  return (await session.again()).ids[0] !== before.ids[0];
};

interface Opened {
  readonly source: Source;
  readonly session: ProbeSession;
  readonly base: Look;
  readonly authScheme: string;
  readonly tokenFormat: SourceConfig['token_format'];
}

/** The first look, with the configured authorization scheme, else with the other usual one. */
const openList = async (options: ProbeOptions, maxRequests: number): Promise<Opened> => {
  const { limiter } = options;
  const config = { ...options.config, token_format: await findTokenFormat(options.config) };
  const schemes = [...new Set([config.auth_scheme, 'bearer', 'Token'])];
  let refused: unknown;
  for (const authScheme of schemes) {
    const source = createSource({ ...config, auth_scheme: authScheme }, limiter === undefined ? {} : { limiter });
    const session = createProbeSession(source.api, config.list, maxRequests - 2 * schemes.indexOf(authScheme));
    try {
      const base = await session.look(config.list.params);
      if (isRefusal(base)) throw refusedList(base);
      return { source, session, base, authScheme, tokenFormat: config.token_format };
    } catch (error) {
      await source.close();
      if (!(error instanceof CallsyncError) || error.code !== 'TOKEN_REJECTED') throw error;
      refused ??= error;
    }
  }
  throw refused;
};

const refusedList = (look: Look): CallsyncError =>
  terminal(
    'LIST_REFUSED',
    `The list at ${look.url.host}${look.url.pathname} answers ${look.status} when it is asked without parameters.`,
    {
      hint: 'Check source.base_url, source.version and source.list.path; parameters that it insists on go into source.list.params.',
    },
  );

const nothingToSee = (look: Look): CallsyncError =>
  look.body === undefined
    ? terminal('LIST_MALFORMED', `${look.url.host}${look.url.pathname} does not answer with JSON.`, {
        hint: 'Check source.base_url and source.list.path.',
      })
    : terminal('LIST_EMPTY', 'The list shows no records, so there is nothing to learn from.', {
        hint: 'Ask the account manager whether these credentials may see calls, or give a part with calls in source.list.params.',
      });
