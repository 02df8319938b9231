/** `callsync probe`: finds out with few requests how a call list works (interface §4.2, §4.4 and §8 do not say). */
import { type ListConfig, listConfigSchema } from '../../../schemas/config/list.ts';
import type { SourceConfig } from '../../../schemas/config/source.ts';
import { CallsyncError, terminal } from '../../errors.ts';
import type { RequestLimiter } from '../http/limiter.ts';
import { wait } from '../http/wait.ts';
import { createSource, findTokenFormat, type Source } from '../source.ts';
import { findCap } from './find-cap.ts';
import { findContradictions } from './find-contradictions.ts';
import { findFields } from './find-fields.ts';
import { findPaging } from './find-paging.ts';
import { type BoundNames, findWindows } from './find-windows.ts';
import type { Finding } from './finding.ts';
import { matchPreset, type PresetFit } from './match-preset.ts';
import { createProbeSession, findRecordsPath, isRefusal, type Look, type ProbeSession, ProbeSpent } from './session.ts';

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
 * beyond its path is not used. Throws what stops any reading: refused credentials, a wrong address, no records to see.
 */
export const probeSource = async (options: ProbeOptions): Promise<ProbeReport> => {
  const { config, maxRequests = defaultProbeRequests } = options;
  const opened = await openList(options, maxRequests);
  const { source, session, base, authScheme, tokenFormat } = opened;
  const recordsPath = findRecordsPath(base.body);
  try {
    if (recordsPath === undefined || base.records.length === 0) throw nothingToSee(base);
    session.recordsPath = recordsPath;
    session.isLive = await seesNewCalls(session);
    const findings: Finding[] = [];
    const list: Record<string, unknown> = { path: config.list.path, records: recordsPath, params: config.list.params };
    findings.push({ key: 'auth_scheme', found: authScheme, confidence: 'sure', evidence: 'the list answered to it' });
    if (tokenFormat !== config.token_format) {
      findings.push({
        key: 'token_format',
        found: tokenFormat,
        confidence: 'sure',
        evidence: `the token was refused as ${config.token_format} and issued as ${tokenFormat}`,
      });
    }
    findings.push({
      key: 'records',
      found: recordsPath === '' ? 'the body itself' : recordsPath,
      confidence: base.records.every((record) => typeof record.unique_id === 'string') ? 'sure' : 'likely',
      evidence: `${base.records.length} records there, with unique_id in ${base.records.filter((record) => typeof record.unique_id === 'string').length}`,
    });
    const complete = await fillIn(session, base, { list, findings, recordsPath, bounds: options.bounds ?? [] });
    findings.push({
      key: 'rate-limit headers',
      found: session.rateHeaders.size === 0 ? 'none' : [...session.rateHeaders].join(', '),
      confidence: 'sure',
      evidence: `over ${session.used} answers`,
    });
    const parsed = listConfigSchema.parse(list);
    const preset = await matchPreset(parsed, authScheme);
    return { findings, list: parsed, authScheme, tokenFormat, preset, requests: session.used, maxRequests, complete };
  } finally {
    await source.close();
  }
};

interface Filling {
  readonly list: Record<string, unknown>;
  readonly findings: Finding[];
  readonly recordsPath: string;
  readonly bounds: readonly BoundNames[];
}

const fillIn = async (
  session: ProbeSession,
  base: Look,
  { list, findings, recordsPath, bounds }: Filling,
): Promise<boolean> => {
  try {
    const paging = await findPaging(session, base, recordsPath);
    findings.push(...paging.findings);
    Object.assign(list, { pagination: paging.pagination, ...paging.total });
    const sizeParam = paging.pagination.size_param;
    const sized = sizeParam === undefined ? {} : { [sizeParam]: String(Math.min(100, paging.pagination.size)) };
    const sample = await session.look(sized);
    const windows = await findWindows(session, sample, sized, bounds);
    findings.push(...windows.findings);
    Object.assign(list, windows.list);
    const { pagination } = paging;
    const [axis] = windows.list.axes;
    const largest = sizeParam === undefined ? {} : { [sizeParam]: String(pagination.size) };
    const cap = await findCap({ session, pagination, axis, format: windows.list.time_format, sized: largest });
    findings.push(cap.finding);
    if (cap.maxResults !== undefined) list.max_results = cap.maxResults;
    findings.push(...findContradictions(base, list, cap.reachable));
    const fields = await findFields(session, sample, { listPath: String(list.path), sized, axes: windows.list.axes });
    findings.push(...fields.findings);
    const axes = windows.list.axes.map((axis) => {
      const order = fields.orders.get(axis.name);
      return order === undefined ? axis : { ...axis, order };
    });
    Object.assign(list, fields.list, { axes });
    return true;
  } catch (error) {
    if (!(error instanceof ProbeSpent)) throw error;
    findings.push({
      key: 'the rest',
      found: 'not asked',
      confidence: 'unknown',
      evidence: `the ${session.limit} allowed requests were used up`,
    });
    return false;
  }
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
