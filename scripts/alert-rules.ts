/** deploy/monitoring/callsync.rules.yaml: alerts for Prometheus, with the limits of the table of conditions. */
import { stringify } from 'yaml';
import type { Condition } from '../schemas/config/notifications.ts';
import { conditions } from '../src/health/conditions.ts';

/** A rule of Prometheus. */
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly severity: 'critical' | 'warning';
  readonly summary: string;
  readonly description?: string;
  /** The first command. */
  readonly action: string;
}

/** An alert of a condition: `metric` fires above its limit, `expr` by itself. */
type ConditionAlert = Pick<Rule, 'summary' | 'description' | 'for'> &
  ({ readonly metric: string } | { readonly expr: string });

const conditionAlerts: Readonly<Partial<Record<Condition, ConditionAlert>>> = {
  worker_gone: {
    expr: 'absent(temporal_num_pollers) or sum(temporal_num_pollers) == 0',
    for: '2m',
    summary: 'No worker runs.',
    description: 'Nothing is read, merged or loaded. Deliveries wait in the inbox.',
  },
  stale: {
    metric: 'max(callsync_sync_lag_seconds)',
    summary: 'New calls are not read.',
    description:
      'callsync read the newest calls of the service {{ $value | humanizeDuration }} ago. A backlog or a backfill does not count.',
  },
  inbox_stalled: {
    metric: 'max(callsync_inbox_oldest_age_seconds)',
    summary: 'Webhook deliveries wait in the inbox.',
    description:
      'The oldest delivery waits for {{ $value | humanizeDuration }}, because no worker merges it. No delivery is lost.',
  },
  load_stalled: {
    metric: 'max by (warehouse) (callsync_warehouse_pending_oldest_age_seconds{kind=~"live|erasure"})',
    summary: 'Warehouse {{ $labels.warehouse }} does not get new calls.',
    description:
      'The oldest change waits for {{ $value | humanizeDuration }}. Calls of a backfill or an import do not count.',
  },
  webhook_refused: {
    expr: 'sum by (reason) (rate(callsync_webhook_rejected_total[10m])) > 0.05',
    for: '10m',
    summary: 'Deliveries are rejected for {{ $labels.reason }}.',
    description:
      '{{ $value | humanize }} a second. After a change of the signing secret, add the new secret to webhook.secrets.',
  },
  suspicious_empty: {
    metric: 'max by (warehouse) (callsync_windows_suspicious_empty)',
    summary: 'The service lists far fewer calls than the ledger has.',
    description: 'The credentials may have lost the right to read these calls. callsync deletes nothing.',
  },
  unproven: {
    metric: 'max by (warehouse) (callsync_windows_unproven)',
    for: '1d',
    summary: '{{ $value }} windows of warehouse {{ $labels.warehouse }} have been unproven for a day.',
    description: 'callsync could not compare the windows with the service, or could not heal a difference.',
  },
  quota_low: {
    metric: 'max by (warehouse, quota) (callsync_quota_used_ratio)',
    summary:
      'Warehouse {{ $labels.warehouse }} has used {{ $value | humanizePercentage }} of its daily {{ $labels.quota }}.',
    description: 'Backfills wait now, so that callsync can still load new calls.',
  },
};

/** Alerts over rates, and over metrics that no reading of the store has. */
const otherAlerts: readonly Rule[] = [
  {
    alert: 'CallsyncSpooling',
    expr: 'min by (instance) (callsync_webhook_store_usable) == 0',
    for: '1m',
    severity: 'critical',
    summary: 'The receiver writes to its spool, because the store does not answer.',
    description:
      'Receivers answer 2XX and keep deliveries on disk. callsync merges these deliveries when the store is back.',
    action: 'callsync doctor',
  },
  {
    alert: 'CallsyncWebhookSilent',
    expr: `sum(increase(callsync_webhook_accepted_total[1h])) == 0
and sum(increase(callsync_calls_merged_total{origin="sync",outcome="changed"}[1h])) > 0
`,
    severity: 'warning',
    summary: 'No webhook was accepted for an hour, while calls keep arriving by poll.',
    description:
      'The service may have switched the webhook off, or the way to the receiver is closed. Polling still brings every call.',
    action: 'callsync doctor',
  },
  {
    alert: 'CallsyncWorkerBusy',
    expr: 'min by (instance, worker_type) (temporal_worker_task_slots_available) == 0',
    for: '15m',
    severity: 'warning',
    summary: 'Worker {{ $labels.instance }} has no free slot for {{ $labels.worker_type }}.',
    action: 'callsync worker; start it on one more machine, or raise temporal.concurrency',
  },
  {
    alert: 'CallsyncWorkflowTaskFailed',
    expr: 'sum by (workflow_type) (increase(temporal_workflow_task_execution_failed_total[10m])) > 0',
    severity: 'critical',
    summary: 'Tasks of workflow {{ $labels.workflow_type }} fail.',
    description:
      'Usually the code of a worker does not replay the history of a running workflow. Roll the worker back.',
    action: "callsync backfill list; the workflow's history in Temporal",
  },
];

/** Every alert of `deploy/monitoring`. */
export const alerts: readonly Rule[] = [
  ...Object.entries(conditions).flatMap(([name, { severity, above, command }]) => {
    const rule = conditionAlerts[name as Condition];
    if (rule === undefined) return [];
    const alert = `Callsync${name.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}`;
    const expr = 'metric' in rule ? `${rule.metric} > ${above}` : rule.expr;
    return [{ ...rule, alert, severity, expr, action: command }];
  }),
  ...otherAlerts,
];

const head = `# Generated by \`npm run generate\` by scripts/alert-rules.ts.
# Alerts of callsync for Prometheus. Load it with \`rule_files:\`; check it with \`promtool check rules\`.
# Gauges of the store are shown by every worker alike: each rule takes the greatest, so that one worker more changes nothing.
`;

export const renderAlertRules = (): string => {
  const rules = alerts.map(({ alert, expr, for: waits, severity, summary, description, action }) => ({
    alert,
    expr,
    ...(waits === undefined ? {} : { for: waits }),
    labels: { severity },
    annotations: { summary, ...(description === undefined ? {} : { description }), action },
  }));
  return head + stringify({ groups: [{ name: 'callsync', rules }] }, { lineWidth: 0 });
};
