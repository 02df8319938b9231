/** The actions of the status page: what the commands of the same names do. Each is told in the timeline, with who did it. */
import { type BackfillProgress, pauseUpdate, resumeUpdate } from '../../../workflows/messages.ts';
import type { Action, Actions } from '../../health/page/access.ts';
import { terminal, transient } from '../../lib/errors.ts';
import { replayQuarantine } from '../../pipeline/import/replay-quarantine.ts';
import { defaultAxis } from '../../source/list/list-query.ts';
import { recordEvent } from '../../store/status/events.ts';
import { backfillHandle, startBackfill, startReconcile } from '../../temporal/workflow-client.ts';
import { ingestDeps } from './activity-deps.ts';
import type { Parts } from './open-parts.ts';
import type { Services } from './services.ts';

const day = 86_400_000_000;
const updateDeadlineMs = 10_000;

/** A day as the page's forms send it → microseconds. @throws CallsyncError USAGE_RANGE */
const dayOf = (text: string | null): number => {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN;
  if (Number.isNaN(ms)) throw terminal('USAGE_RANGE', 'A day such as 2026-01-31 is needed.');
  return ms * 1000;
};

export const createPageActions = (services: Services, parts: Parts): Actions => {
  const { store, targets, temporal } = parts;
  const { temporal: config, sync, source } = services.config;
  const prefix = config.task_queue;

  /** Records an action that succeeded. One that fails is not recorded: its error goes to the browser that asked. */
  const told =
    (kind: string, act: (fields: URLSearchParams) => Promise<string>): Action =>
    async (fields, actor) => {
      const what = await act(fields);
      await recordEvent(store, { kind, what, actor });
      return what;
    };

  const change = async (fields: URLSearchParams, update: typeof pauseUpdate): Promise<string> => {
    const name = fields.get('name') ?? '';
    const handle = backfillHandle(temporal.client, prefix, name);
    await temporal.client
      .withDeadline(Date.now() + updateDeadlineMs, () => handle.executeUpdate<BackfillProgress, []>(update))
      .catch((cause: unknown) => {
        throw transient('BACKFILL_UNANSWERED', 'The backfill does not run, or no worker answers.', { cause });
      });
    return name;
  };

  return {
    pause: told('backfill', async (fields) => `Paused ${await change(fields, pauseUpdate)}`),
    resume: told('backfill', async (fields) => `Resumed ${await change(fields, resumeUpdate)}`),
    backfill: told('backfill', async (fields) => {
      const from = dayOf(fields.get('from'));
      const to = Math.min(dayOf(fields.get('to')), Date.now() * 1000);
      if (from >= to) throw terminal('USAGE_RANGE', 'The range is empty: it must begin before its end and before now.');
      const name = `${fields.get('from')}_${fields.get('to')}`;
      const { name: axis } = defaultAxis(source.list);
      const { order: direction, concurrency } = sync;
      await startBackfill(temporal.client, prefix, {
        name,
        axis,
        range: { from, to },
        direction,
        concurrency,
        force: false,
      });
      return `Started ${name}`;
    }),
    reconcile: told('reconcile', async (fields) => {
      const from = dayOf(fields.get('day'));
      const to = Math.min(from + day, Date.now() * 1000);
      if (from >= to) throw terminal('USAGE_RANGE', 'The day has not begun.');
      await startReconcile(temporal.client, prefix, {
        name: `${from}-${to}`,
        request: { range: { from, to }, force: true },
      });
      return `Reconciles ${fields.get('day')}`;
    }),
    replay: told('quarantine', async (fields) => {
      const id = fields.get('id')?.trim() ?? '';
      if (!/^\d{0,15}$/.test(id)) throw terminal('USAGE_QUARANTINE', 'A number is needed, or nothing for all.');
      const { replayed, refused } = await replayQuarantine(ingestDeps(services, { store, targets }), {
        carries: new Set(source.list.carries),
        ...(id === '' ? {} : { ids: [Number(id)] }),
      });
      return `Replayed ${replayed} quarantined records, ${refused} still refused`;
    }),
  };
};
