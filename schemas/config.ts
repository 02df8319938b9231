/** The whole configuration, composed of its sections. Example file, JSON Schema and reference derive from this. */
import { z } from 'zod';
import { analyticsConfigSchema } from './config/analytics.ts';
import { notificationsConfigSchema } from './config/notifications.ts';
import { operationsConfigSchema } from './config/operations.ts';
import { privacyConfigSchema } from './config/privacy.ts';
import { sourceConfigSchema } from './config/source.ts';
import { storeConfigSchema } from './config/store.ts';
import { syncConfigSchema } from './config/sync.ts';
import { temporalConfigSchema } from './config/temporal.ts';
import { warehousesConfigSchema } from './config/warehouses.ts';
import { webhookConfigSchema } from './config/webhook.ts';

const sections = z
  .strictObject({
    source: sourceConfigSchema.describe('The service whose calls callsync reads.'),
    webhook: webhookConfigSchema.prefault({}),
    store: storeConfigSchema.prefault({}),
    warehouses: warehousesConfigSchema,
    temporal: temporalConfigSchema.prefault({}),
    sync: syncConfigSchema.prefault({}),
    operations: operationsConfigSchema.prefault({}),
    analytics: analyticsConfigSchema.prefault({}),
    privacy: privacyConfigSchema.prefault({}),
    notifications: notificationsConfigSchema.prefault({}),
  })
  .describe('Configuration of callsync.');

export const configSchema = sections.superRefine(({ source: { list }, sync }, { addIssue }) => {
  const known = list.cursor_fields.length === 0 ? ['timestamp'] : list.cursor_fields.map(({ name }) => name);
  const message = 'must be a name of source.list.cursor_fields';
  const backfills = sync.backfills.map(({ axis }, index) => ({ axis, path: ['sync', 'backfills', index, 'axis'] }));
  for (const { axis, path } of [{ axis: list.axis, path: ['source', 'list', 'axis'] }, ...backfills])
    if (axis !== undefined && !known.includes(axis)) addIssue({ code: 'custom', path, message });
});

/** A receiver alone: it does not ask the service, so its file need not name it. */
export const receiverConfigSchema = sections.partial({ source: true });

export type Config = z.infer<typeof configSchema>;
export type ReceiverConfig = z.infer<typeof receiverConfigSchema>;
