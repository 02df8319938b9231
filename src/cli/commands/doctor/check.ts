/** One check of the doctor, and the run of all checks in parallel, each with its own time-out. */

import { constants, existsSync } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { unitFields } from '../../../../schemas/config/analytics.ts';
import type { WarehouseConfig } from '../../../../schemas/config/warehouses.ts';
import type { Config, ReceiverConfig } from '../../../../schemas/config.ts';
import { checkTimeZone, createWarehouse } from '../../../app/activity-deps.ts';
import { readNow } from '../../../app/open-health.ts';
import { openRules } from '../../../app/open-rules.ts';
import { claimSource } from '../../../app/open-source.ts';
import {
  configuredStore,
  inDataDir,
  listKeys,
  listPrivacyKeys,
  requireKeyFile,
  type Services,
} from '../../../app/services.ts';
import { resolveDataDir } from '../../../config/data-dir.ts';
import { because, judge } from '../../../health/conditions.ts';
import { countOf } from '../../../lib/count-of.ts';
import { CallsyncError } from '../../../lib/errors.ts';
import { withinTime } from '../../../lib/timing.ts';
import { listDialled } from '../../../persons/list-dialled.ts';
import { leastDigits, phoneSubject, tokenSubject } from '../../../persons/subjects.ts';
import type { Queryable } from '../../../postgres/database.ts';
import { normalizeNumber } from '../../../privacy/phone-number.ts';
import { countriesOf } from '../../../privacy/privacy.ts';
import { versionOfRules } from '../../../privacy/rules.ts';
import { isLoopback } from '../../../source/http/http.ts';
import { countUnderOthers, readNewestCalls } from '../../../store/ledger/read-ledger.ts';
import { compareKeys, type Store } from '../../../store/store.ts';
import { kindOf } from '../../../warehouse/kinds.ts';
import { describeUnexpected, exitOf, exits, worstOf } from '../../shell/output.ts';

export interface Finding {
  readonly outcome: 'ok' | 'warning' | 'failed' | 'skipped';
  /** One sentence, without secrets and personal data. */
  readonly message: string;
  readonly hint?: string | undefined;
  /** Exit code of the command if this check failed; 6 by default. */
  readonly exitCode?: number;
}

/** By name, in the order of the output. A rejection is a finding too. */
export type Checks = Readonly<Record<string, (signal: AbortSignal) => Promise<Finding | readonly Finding[]>>>;

export const ok = (message: string): Finding => ({ outcome: 'ok', message });
export const warning = (message: string, hint: string): Finding => ({ outcome: 'warning', message, hint });
export const failed = (message: string, hint: string): Finding => ({ outcome: 'failed', message, hint });
/** A dependency that does not answer now and may answer later. */
export const silent = (message: string, hint: string) => ({ ...failed(message, hint), exitCode: exits.unanswered[0] });
export const skipped = (message: string): Finding => ({ outcome: 'skipped', message });

/** A check whose dependency another check found missing. */
class NotChecked extends Error {}

/** A dependency, or the finding that it is missing. */
export const need = <T>(opening: Promise<T>, otherwise: string): Promise<T> =>
  opening.catch(() => {
    throw new NotChecked(otherwise);
  });

export const findingOf = (error: unknown): Finding => {
  if (error instanceof NotChecked) return skipped(error.message);
  const [exitCode] = exits[exitOf(error)];
  const { message, hint } = error instanceof CallsyncError ? error : describeUnexpected(error);
  return { outcome: 'failed', message, hint, exitCode };
};

/** Results in the order of the checks. */
export const runChecks = async (checks: Checks, { deadlineMs }: { readonly deadlineMs: number }) => {
  const all = await Promise.all(
    Object.entries(checks).map(async ([name, run]) => {
      const started = performance.now();
      const controller = new AbortController();
      const checked = run(controller.signal).catch(findingOf);
      const found = await withinTime(checked, deadlineMs, () => controller.abort()).catch(() =>
        silent(
          `No result within ${deadlineMs / 1000} s.`,
          'Check DNS, proxy and firewall of this machine, and long transactions of PostgreSQL.',
        ),
      );
      const ms = Math.round(performance.now() - started);
      return [found].flat().map((finding) => ({ check: name, ...(finding as Finding), ms }));
    }),
  );
  return all.flat();
};

/** Exit code of all findings: that of the worst failed one. */
export const exitCodeOfFindings = (findings: readonly Finding[]): number =>
  worstOf(findings.flatMap(({ outcome, exitCode = exits.blocked[0] }) => (outcome === 'failed' ? [exitCode] : [])));

// Checks of the installation: store and its health, privacy rules, warehouses, disk, settings of marts.

/** The store, or the finding that it is missing. */
export const needStore = <S extends Queryable>(opening: Promise<S>): Promise<S> => need(opening, 'Needs the store.');

/** In the order of the output. */
export const installationChecks = ({ config }: Services, opening: Promise<Store>): Checks => ({
  store: async () => checkStore(await opening, config),
  health: async () => checkHealth(await needStore(opening), config),
  ...privacyChecks({ config }, opening),
  ...warehouseChecks(config, opening),
  disk: () => checkDisk(config),
  operations: async () => checkOperations(config),
  analytics: async () => checkAnalytics(config),
});

/** Checks of a receiver alone, beside those of the webhook. */
export const receiverChecks = ({ config }: Services<ReceiverConfig>, opening: Promise<Queryable>): Checks => ({
  store: async () => {
    requireKeyFile(config);
    const inbox = await opening;
    await compareKeys(inbox, listPrivacyKeys(config));
    // Needs the rights of a delivery, and writes nothing.
    await inbox.query('INSERT INTO inbox (received_at) SELECT now() WHERE false');
    return ok('The inbox takes deliveries.');
  },
  spool: () => checkFolder(...spoolOf(config)),
  operations: async () => checkOperations(config),
});

const checkStore = async (store: Store, config: Config): Promise<Finding> => {
  await claimSource(store, config, 'look');
  // A store that no worker has used takes the keys of the first.
  if (await store.has`SELECT 1 FROM token_keys`) await compareKeys(store, listKeys(config));
  const { version, fsync, commit } = await store.row<{ version: string; fsync: string; commit: string }>`
      SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
             current_setting('synchronous_commit') AS commit`;
  if (fsync === 'off' || commit === 'off')
    return failed(
      `PostgreSQL ${version} answers, but can lose commits in a crash (${fsync === 'off' ? 'fsync' : 'synchronous_commit'} = off).`,
      'Set it to on, so that no answered delivery is lost.',
    );
  return ok(`PostgreSQL ${version.split(' ')[0]}, schema callsync is up to date.`);
};

/** Everything that page, status and messages call wrong in the running installation is a finding here too. */
const checkHealth = async (store: Store, config: Config): Promise<Finding | Finding[]> => {
  const readings = await readNow(config, store);
  const wrong = judge(readings);
  const { sync } = readings;
  // Early: most failures pass before a condition begins.
  const quiet = sync?.lastError == null ? 'Nothing is wrong.' : `The last read failed${because(sync.lastError)}.`;
  if (wrong.length === 0) return ok(sync === null ? 'Continuous sync has not begun.' : quiet);
  return wrong.map(({ summary, command }) =>
    warning(summary, command === 'callsync doctor' ? 'The log of the worker has the cause.' : `First: ${command}.`),
  );
};

const warehouseChecks = ({ warehouses, analytics }: Config, opening: Promise<Store>): Checks => {
  const storeUrl = async () => (await needStore(opening)).url;
  const check = async (name: string, config: WarehouseConfig): Promise<Finding> => {
    const found = ok(await kindOf(config).checkAccess({ name, config, storeUrl }));
    const warehouse = createWarehouse(name, config, await needStore(opening));
    const place = kindOf(config).place(config);
    await checkTimeZone(warehouse, place, analytics.time_zone).finally(() => warehouse.close());
    return found;
  };
  return Object.fromEntries(
    Object.entries(warehouses).map(([name, config]) => [`warehouse ${name}`, () => check(name, config)]),
  );
};

/** The status page needs a token or a user by itself. */
const checkOperations = ({ operations: { enabled, listen, port, token_file: token } }: ReceiverConfig): Finding =>
  enabled && token === undefined && !isLoopback(listen)
    ? warning(`Everybody who reaches ${listen}:${port} can read the metrics.`, 'Set operations.token_file.')
    : ok('No stranger can read the metrics.');

/** The folder of the spool, and the bytes that it leaves free. */
const spoolOf = ({ store, webhook: { spool } }: Pick<Config, 'store' | 'webhook'>) =>
  [spool.dir ?? inDataDir(store, 'spool'), spool.min_free_bytes] as const;

const GiB = 1024 ** 3;
const scarceBytes = 2 * GiB;

const checkDisk = async ({ store, temporal, webhook }: Config): Promise<Finding[]> => {
  const dataDir = resolveDataDir(store.data_dir);
  const folders = new Map<string, number>();
  if (configuredStore(store) === undefined || temporal.address === undefined) folders.set(dataDir, 0);
  if (webhook.enabled) folders.set(...spoolOf({ webhook, store }));
  return Promise.all([...folders].map(([folder, least]) => checkFolder(folder, least)));
};

const checkFolder = async (folder: string, least: number): Promise<Finding> => {
  const present = nearest(folder);
  try {
    await access(present, constants.W_OK);
  } catch {
    return failed(
      `${present} cannot be written to.`,
      'Let the user that runs callsync write there, or set store.data_dir.',
    );
  }
  const { bavail, bsize } = await statfs(present);
  const free = bavail * bsize;
  const text = `${(free / GiB).toFixed(1)} GiB free for ${folder}`;
  if (free < least)
    return failed(`${text}: the spool takes nothing any more.`, 'Make room, or set webhook.spool.dir to another disk.');
  return free < scarceBytes ? warning(`${text}.`, 'Make room soon.') : ok(`${text}.`);
};

/** The folder, or the closest one above it that exists. */
const nearest = (folder: string): string =>
  existsSync(folder) || folder === dirname(folder) ? folder : nearest(dirname(folder));

/** Number of calls whose ids the check reads. */
const newestCalls = 200;

/** None where there are no rules. */
export const privacyChecks = ({ config }: Pick<Services, 'config'>, opening: Promise<Store>): Checks => {
  const version = versionOfRules(config.privacy);
  if (version === undefined) return {};
  return {
    privacy: async () => {
      const calls = await countUnderOthers(await needStore(opening), version);
      if (calls === 0) return ok(`All calls are under rules ${version}.`);
      return warning(
        `${calls} call(s) are not under rules ${version}, but under others or none.`,
        'callsync privacy apply brings them under the present ones.',
      );
    },
    'call ids': async () => {
      const { tokensOf } = openRules(config);
      const store = await needStore(opening);
      const calls = await readNewestCalls(store, newestCalls);
      const { subjectsOf } = store.erasures.subjects;
      const telling = calls.filter(({ callId, document: { unique_id: _, ...fields } }) => {
        const numbers = [...new Set(listDialled(callId))].filter(({ length }) => length >= leastDigits);
        const { all } = numbers.length === 0 ? { all: new Set() } : subjectsOf(fields);
        return numbers.some((digits) => {
          const number = normalizeNumber(digits, countriesOf(config.privacy)) ?? digits;
          return [phoneSubject(number), ...tokensOf(number, 'phone').map(tokenSubject)].some((one) => all.has(one));
        });
      });
      const looked = `the newest ${countOf(calls.length, 'call')}`;
      if (telling.length === 0) return ok(`No id of ${looked} holds a number of its call.`);
      return warning(
        `Ids of ${telling.length} of ${looked} hold a telephone number of their call. No rule acts on an id, and the store keeps it after an erasure too.`,
        'Ask the operator of the service for ids without numbers.',
      );
    },
  };
};

/** Settings that marts need. */
const checkAnalytics = ({ analytics: { units, agent_side: side } }: Config): Finding => {
  const unknown = unitFields.filter((field) => units[field] === 'unknown');
  if (unknown.length > 0)
    return warning(
      `The unit of ${unknown.join(', ')} is not known, so marts leave figures in seconds empty.`,
      'Run callsync calibrate --write once calls are loaded.',
    );
  if ([side.default, ...Object.values(side.by_direction)].every((one) => one === 'unknown'))
    return warning('The side of the agent in transcripts is unknown.', 'Set analytics.agent_side.');
  return ok('Units and the side of the agent are known.');
};
