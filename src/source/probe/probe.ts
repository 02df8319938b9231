/** `callsync probe`: finds out with few requests how a call list works (interface §4.2, §4.4 and §8 do not say). */
import { Document, isMap, parseDocument, stringify } from 'yaml';
import { type AxisConfig, type ListConfig, listConfigSchema } from '../../../schemas/config/list.ts';
import type { SourceConfig } from '../../../schemas/config/source.ts';
import { CallsyncError, terminal } from '../../lib/errors.ts';
import { valueAt } from '../../lib/parse-json.ts';
import { wait } from '../../lib/timing.ts';
import type { RequestLimiter } from '../http/limiter.ts';
import { listPresets } from '../presets/presets.ts';
import { createSource, findTokenFormat } from '../source.ts';
import * as ask from './questions.ts';
import { createProbeSession, findRecordsPath, type Look, type ProbeSession, ProbeSpent } from './session.ts';

interface ProbeOptions {
  readonly config: SourceConfig;
  /** Never more requests to the call API than this. */
  readonly maxRequests?: number;
  /** Names to try before the usual ones: a pair of window parameters, or a parameter of paging. */
  readonly names?: readonly (ask.BoundNames | readonly [string])[];
  readonly limiter?: RequestLimiter;
}

type ProbeReport = Awaited<ReturnType<typeof probeSource>>;

/** Enough for every question, on a service that answers the usual names. */
export const defaultProbeRequests = 100;

/**
 * Probes the list with the configured credentials, address, version and path; it ignores all other settings of the
 * list. Presets come first: a preset with working parameters is used whole.
 * @returns `complete` is false when the requests ran out before every question was answered
 * @throws CallsyncError if nothing can be read: refused credentials, a wrong address, no visible records
 */
export const probeSource = async (options: ProbeOptions) => {
  const { config, maxRequests = defaultProbeRequests } = options;
  const { source, session, base, authScheme, tokenFormat } = await openList(options, maxRequests);
  const recordsPath = findRecordsPath(base.body);
  try {
    if (recordsPath === undefined || base.records.length === 0) throw nothingToSee(base, recordsPath);
    session.known.recordsPath = recordsPath;
    const findings: ask.Finding[] = [];
    const say: ask.Inquiry['say'] = (key, found, confidence, evidence) =>
      findings.push({ key, found, confidence, evidence });
    say('auth_scheme', authScheme, 'sure', 'the list answered to it');
    if (tokenFormat !== config.token_format)
      say('token_format', tokenFormat, 'sure', `the token was refused as ${config.token_format}`);
    const named = base.records.filter((record) => typeof record.unique_id === 'string').length;
    if (named === 0) throw unreadable(recordsPath);
    const isSure = named === base.records.length ? 'sure' : 'likely';
    const where = `${base.records.length} records there, with unique_id in ${named}`;
    say('records', recordsPath === '' ? 'the body itself' : recordsPath, isSure, where);

    const { path, params } = config.list;
    const inquiry: ask.Inquiry = { session, base, recordsPath, list: { path, records: recordsPath, params }, say };
    let preset: Awaited<ReturnType<typeof fitPreset>>;
    let complete = true;
    try {
      session.known.isLive = await seesNewCalls(session);
      preset = await fitPreset(inquiry, authScheme);
      if (preset === undefined) await fillIn(inquiry, options.names ?? []);
    } catch (error) {
      if (!(error instanceof ProbeSpent)) throw error;
      complete = false;
      say('the rest', 'not asked', 'unknown', `the ${session.limit} allowed requests were used up`);
    }
    const headers = [...session.rateHeaders].join(', ') || 'none';
    say('rate-limit headers', headers, 'sure', `over ${session.used()} answers`);
    const list = listConfigSchema.parse(inquiry.list);
    return { findings, list, authScheme, tokenFormat, preset, requests: session.used(), maxRequests, complete };
  } finally {
    await source.close();
  }
};

type Sample = Awaited<ReturnType<typeof ask.takeSample>>;

const areCut = async (sample: Sample, axes: readonly AxisConfig[], format: ListConfig['time_format']) => {
  for (const { from_param = '', to_param = '', record_field } of axes)
    if ((await ask.identifyAxis(sample, [from_param, to_param], [format]))?.record_field !== record_field) return false;
  return true;
};

/** The preset whose records, total, paging and windows all work here; `list` then has its settings. */
const fitPreset = async (inquiry: ask.Inquiry, authScheme: string) => {
  const { base, list, recordsPath, say } = inquiry;
  for (const { name, description, config } of await listPresets()) {
    const source = config.source as { readonly list?: object; readonly auth_scheme?: string } | undefined;
    // Without the preset's status filter, so that the probe sees the whole list.
    const settings = { ...source?.list, path: list.path, params: list.params, status: undefined };
    const { pagination, total_path, cursor_fields, time_format, records } = listConfigSchema.parse(settings);
    const isUnlike =
      (source?.auth_scheme ?? 'bearer').toLowerCase() !== authScheme.toLowerCase() ||
      records !== recordsPath ||
      (total_path !== undefined && typeof valueAt(base.body, total_path) !== 'number');
    if (isUnlike || pagination?.style !== 'offset') continue;
    if ((await ask.findSizeParam(inquiry, [pagination.size_param])) === undefined) continue;
    const trial = await ask.openTrial(inquiry, pagination.size_param);
    if ((await ask.findCounted(trial, 'offset', [pagination.offset_param])) === undefined) continue;
    const sample = await ask.takeSample(inquiry, pagination);
    if (!(await areCut(sample, cursor_fields, time_format))) continue;
    Object.assign(list, settings);
    say('preset', name, 'sure', 'its records, total, pages and windows all work');
    ask.findCarries(inquiry, sample);
    return { preset: name, description };
  }
  return undefined;
};

/** Asks question after question if no preset fits. */
const fillIn = async (inquiry: ask.Inquiry, names: NonNullable<ProbeOptions['names']>): Promise<void> => {
  const bounds = names.filter((one) => one.length === 2);
  const paging = names.filter((one) => one.length === 1).flat();
  const sample = await ask.takeSample(inquiry, await ask.findPaging(inquiry, paging));
  await ask.findWindows(inquiry, sample, bounds);
  ask.findCarries(inquiry, sample);
  await ask.findExclude(inquiry, sample);
  await ask.findStatus(inquiry, sample);
  await ask.findSingle(inquiry, sample);
};

/** Long enough to see a call come where many do; where few do, pages hardly move while the probe lasts. */
const liveWaitMs = 400;

const seesNewCalls = async (session: ProbeSession): Promise<boolean> => {
  const before = await session.front();
  await wait(liveWaitMs);
  return (await session.front(true)).ids[0] !== before.ids[0];
};

/** The first look, with the configured authorization scheme, else with the other usual one. */
const openList = async (options: ProbeOptions, maxRequests: number) => {
  const { limiter } = options;
  const tokenFormat = await findTokenFormat(options.config);
  const config = { ...options.config, token_format: tokenFormat };
  let refused: unknown;
  for (const [tried, authScheme] of [...new Set([config.auth_scheme, 'bearer', 'Token'])].entries()) {
    const source = createSource({ ...config, auth_scheme: authScheme }, limiter === undefined ? {} : { limiter });
    const session = createProbeSession(source.api, config.list, maxRequests - 2 * tried);
    try {
      const base = await session.front();
      if (base.isRefusal) throw refusedList(base);
      return { source, session, base, authScheme, tokenFormat };
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
      hint: 'Correct source.base_url, source.version and source.list.path (required parameters go into source.list.params), then run callsync probe.',
    },
  );

const nothingToSee = (look: Look, path: string | undefined): CallsyncError =>
  look.body === undefined
    ? terminal('LIST_MALFORMED', `${look.url.host}${look.url.pathname} does not answer with JSON.`, {
        hint: 'Correct source.base_url and source.list.path, then run callsync probe.',
      })
    : path !== undefined || ['null', '{}'].includes(JSON.stringify(look.body))
      ? terminal('LIST_EMPTY', 'The list has no records, so callsync cannot find out how the list works.')
      : terminal('LIST_SHAPE', 'The answer has no array of objects, so callsync can read none as a call.', {
          hint: 'Set source.list.path to a list that is an array of records with unique_id, or ask its operator for one.',
        });

const unreadable = (path: string): CallsyncError =>
  terminal('LIST_SHAPE', `No record at “${path}” has a text in unique_id, so callsync can read none as a call.`, {
    hint: 'Set source.list.path to a list whose records have unique_id, or ask the operator of the service for it.',
  });

/** One line a finding, then the section as it would be written. */
export const renderProbe = (report: ProbeReport): string => {
  const { findings, preset, requests, maxRequests, complete } = report;
  const width = Math.max(...findings.map(({ key }) => key.length));
  const verb = complete ? 'fits' : 'was found to fit so far';
  return [
    ...findings.map((one) => `${one.key.padEnd(width)}  ${one.found}  (${one.confidence}: ${one.evidence})`),
    '',
    preset === undefined ? `No preset ${verb}.` : `The preset ${preset.preset} fits: ${preset.description}.`,
    `${requests} of at most ${maxRequests} requests were made${complete ? '' : '; not every question was answered'}.`,
    '',
    stringify({ source: sectionOf(report) }).trimEnd(),
  ].join('\n');
};

/** Only settings that differ from the defaults, so that the section stays readable. */
const sectionOf = ({ authScheme, tokenFormat, list }: ProbeReport) => {
  const defaults: Record<string, unknown> = listConfigSchema.parse({});
  const differs = ([key, value]: readonly [string, unknown]): boolean =>
    value !== undefined && JSON.stringify(value) !== JSON.stringify(defaults[key]);
  return {
    ...(authScheme === 'bearer' ? {} : { auth_scheme: authScheme }),
    ...(tokenFormat === 'form' ? {} : { token_format: tokenFormat }),
    list: Object.fromEntries(Object.entries(list).filter(differs)),
  };
};

/**
 * The text of a configuration file with the findings as its `source.list`, or beside the settings there if the probe is
 * incomplete. Everything else stays, comments included.
 */
export const writeListSection = (text: string, report: ProbeReport): string => {
  const document = text.trim() === '' ? new Document({}) : parseDocument(text);
  if (!isMap(document.contents)) document.contents = document.createNode({}) as typeof document.contents;
  const { list, ...others } = sectionOf(report);
  for (const [key, value] of Object.entries(others)) document.setIn(['source', key], document.createNode(value));
  const isMerged = !report.complete && isMap(document.getIn(['source', 'list']));
  if (!isMerged) document.setIn(['source', 'list'], document.createNode({}));
  for (const [key, value] of Object.entries(list)) document.setIn(['source', 'list', key], document.createNode(value));
  return document.toString();
};
