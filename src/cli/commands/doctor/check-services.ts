/** Checks of the service (token, list, clock, WebSocket) and of Temporal (server, namespace, workers, schedules). */

import { ScheduleNotFoundError } from '@temporalio/client';
import { taskQueuesOf } from '../../../../workflows/messages.ts';
import { askList, openSource } from '../../../app/open-source.ts';
import type { Services } from '../../../app/services.ts';
import { openTemporal, type TemporalService, unpolledQueues } from '../../../app/temporal.ts';
import { terminal } from '../../../lib/errors.ts';
import { lazily } from '../../../lib/timing.ts';
import { findTemporalCli } from '../../../local/temporal-server.ts';
import { openFrames } from '../../../source/frames.ts';
import { steadyNow } from '../../../source/http/http.ts';
import type { RequestLimiter } from '../../../source/http/limiter.ts';
import { findRecordsPath } from '../../../source/probe/session.ts';
import { findTokenFormat, type Source } from '../../../source/source.ts';
import { schedulesOf } from '../../../temporal/schedules.ts';
import { type Checks, type Finding, failed, findingOf, need, ok, silent, skipped, warning } from './check.ts';

const noticedSkewS = 5;

export const sourceChecks = (services: Services, limiter?: RequestLimiter): Checks => {
  const opened = services.config.source;
  const open = lazily(() => openSource(services, undefined, limiter));
  let listed: Promise<unknown> | undefined;
  const list = (signal: AbortSignal): Promise<unknown> => (listed ??= askList(open(), signal));
  return {
    token: async (signal) => {
      const format = await findTokenFormat(opened, signal);
      if (format !== opened.token_format)
        return failed(
          `The identity provider accepts the token request only as ${format}.`,
          `Set source.token_format: ${format}.`,
        );
      return ok(opened.token === undefined && opened.token_file === undefined ? 'Issued.' : 'Configured.');
    },
    list: async (signal) => describeList(opened.list.records, await list(signal)),
    clock: async (signal) => {
      await need(list(signal), 'The list did not answer, so callsync does not know the clock of the service.');
      return describeClock(open(), services.config.sync.clock_skew);
    },
    websocket: (signal) => checkWebsocket(open(), signal),
  };
};

const describeList = (configured: string, body: unknown): Finding => {
  const found = findRecordsPath(body);
  if (found === configured)
    return ok(`Answers, with records at “${configured === '' ? 'the body itself' : configured}”.`);
  return failed(
    `Answers, but not with records at “${configured}”${found === undefined ? '' : ` (there are some at “${found}”)`}.`,
    'Run callsync probe --write, or name the preset of the service in source.list.preset.',
  );
};

/** Beyond the allowed skew, webhook times are cut off and no longer order correctly. */
const describeClock = ({ clock }: Source, allowedSkewMs: number): Finding => {
  const offset = clock.offset();
  if (offset === undefined) return skipped('The service tells no time (no Date header).');
  // The offset is one to the steady time, which is behind after a sleep of this machine.
  const behindMs = Date.now() - steadyNow();
  // The certain part of the offset: no rounding of the header explains it.
  const ms = Math.max(offset.low - behindMs, 0) + Math.min(offset.high - behindMs, 0);
  const seconds = Math.round(Math.abs(ms) / 1000);
  if (seconds < noticedSkewS) return ok('Agrees with the service’s.');
  const message = `The service’s clock is ${seconds} s ${ms > 0 ? 'ahead of' : 'behind'} this machine’s.`;
  const hint = 'Let this machine keep its time by NTP (such as timedatectl set-ntp true).';
  return seconds * 1000 > allowedSkewMs ? failed(message, hint) : warning(message, hint);
};

const checkWebsocket = async ({ config, tokens }: Source, signal: AbortSignal): Promise<Finding> => {
  if (config.websocket.url === undefined) return skipped('No address is configured (source.websocket.url).');
  const stop = new AbortController();
  let refusal: string | undefined;
  let isOpen = false;
  try {
    await openFrames({
      config: config.websocket,
      tokens,
      signal: AbortSignal.any([signal, stop.signal]),
      onFrame: () => undefined,
      onEvent: (event) => {
        if (event.kind === 'opened') isOpen = true;
        if (event.kind === 'refused') refusal = event.explanation;
        stop.abort();
      },
    });
  } catch (error) {
    return { hint: 'Ask the account manager.', ...findingOf(error) };
  }
  if (isOpen) return ok(`${new URL(config.websocket.url).host} opens.`);
  const hint = 'Try again later; callsync frames keeps trying.';
  return refusal === undefined ? silent('It did not open.', hint) : failed(refusal, hint);
};

// Temporal.

export const temporalChecks = (services: Services): Checks => {
  const { config } = services;
  const open = lazily(() => openPresent(services));
  const opened = (): Promise<TemporalService> => need(open(), 'Needs Temporal.');
  return {
    temporal: async () => ok(`${(await open()).address} has the namespace ${config.temporal.namespace}.`),
    workers: async () => checkWorkers(await opened()),
    schedules: async () => checkSchedules(services, await opened()),
  };
};

/** Never builds the development server’s program: that takes minutes. */
const openPresent = async (services: Services): Promise<TemporalService> => {
  const { temporal } = services.config;
  if (temporal.address === undefined && (await findTemporalCli({ configured: temporal.cli })) === undefined)
    throw terminal('TEMPORAL_CLI', 'The Temporal CLI for the development server is not installed.', {
      hint: 'Run callsync up, which downloads the Temporal CLI, or builds it with Go in 3 minutes. Or set temporal.address.',
    });
  return openTemporal(services);
};

const checkWorkers = async ({ client, prefix }: TemporalService): Promise<Finding> => {
  const unpolled = await unpolledQueues(client.workflow, prefix);
  if (unpolled.length === 0)
    return ok(`In the last 5 minutes, workers polled ${Object.values(taskQueuesOf(prefix)).join(', ')}.`);
  return warning(`No worker polls ${unpolled.join(', ')}.`, 'Start callsync up or callsync worker.');
};

const checkSchedules = async (services: Services, { client, prefix }: TemporalService): Promise<Finding> => {
  const { reconcile } = services.config.sync;
  const missing: string[] = [];
  const paused: string[] = [];
  const wanted = schedulesOf(prefix).filter((id) => reconcile.enabled || !id.endsWith('/reconcile'));
  for (const id of wanted) {
    try {
      const { state } = await client.schedule.getHandle(id).describe();
      if (state.paused) paused.push(id);
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
      missing.push(id);
    }
  }
  if (missing.length > 0)
    return warning(`Not there: ${missing.join(', ')}.`, 'callsync up or callsync go-live creates them.');
  if (paused.length > 0)
    return warning(`Paused: ${paused.join(', ')}.`, 'Resume them in the Temporal UI when the reason is gone.');
  return ok(`${wanted.length} schedules are on.`);
};
