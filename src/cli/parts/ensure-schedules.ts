import { defaultAxis } from '../../source/list/list-query.ts';
import { type BackfillDefaults, ensureBackfillSchedules } from '../../temporal/backfill-schedules.ts';
import { ensureSchedules } from '../../temporal/schedules.ts';
import type { TemporalService } from './open-temporal.ts';
import type { Services } from './services.ts';

export const backfillDefaults = ({ config }: Services): BackfillDefaults => ({
  axis: defaultAxis(config.source.list).name,
  sync: config.sync,
});

/** Brings the schedules of continuous sync and those of configured backfills in line with the configuration. */
export const ensureConfiguredSchedules = async (
  services: Services,
  { client }: Pick<TemporalService, 'client'>,
  wanted: 'all' | 'sweep' = 'all',
): Promise<void> => {
  const { sync, temporal } = services.config;
  await ensureSchedules(client, temporal.task_queue, sync, wanted);
  if (wanted === 'sweep') return;
  const taken = await ensureBackfillSchedules(client, temporal.task_queue, {
    wanted: sync.backfills,
    defaults: backfillDefaults(services),
  });
  for (const name of taken)
    services.say(`The schedule ${name} was made by callsync backfill schedule create; the configured one is left out.`);
};
