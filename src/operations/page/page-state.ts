/** What the status page shows. Ages and durations in seconds, instants in milliseconds since the epoch. */
export type DayState = 'proven' | 'healed' | 'unproven' | 'unread' | 'suspicious_empty';

export interface PageState {
  readonly at: number;
  readonly version: string;
  /** False while the operational store does not answer; what comes from it is then empty. */
  readonly storeAnswers: boolean;
  readonly sync: {
    readonly lag: number | null;
    readonly watermarkAge: number;
    readonly lastError: string | null;
  } | null;
  readonly warehouses: readonly PageWarehouse[];
  readonly calls: number;
  readonly waiting: readonly WaitingRow[];
  readonly funnel: readonly Latency[];
  readonly ways: {
    readonly both: number;
    readonly pollOnly: number;
    readonly webhookOnly: number;
    readonly importOnly: number;
  };
  /** Null while Temporal does not answer. */
  readonly backfills: readonly PageBackfill[] | null;
  readonly limits: readonly UsedLimit[];
  readonly openProblems: number;
  readonly events: readonly PageEvent[];
}

export interface PageWarehouse {
  readonly name: string;
  readonly pending: number;
  readonly liveOldestAge: number | null;
  readonly lastLoadAge: number | null;
  readonly lastError: string | null;
  readonly newestVisible: number | null;
  readonly days: readonly PageDay[];
}

export interface PageDay {
  /** `YYYY-MM-DD`, UTC. */
  readonly date: string;
  readonly state: DayState;
  readonly calls: number;
}

export interface WaitingRow {
  readonly what: string;
  readonly count: number;
  readonly oldestAge: number | null;
  /** To be copied into a terminal. */
  readonly command: string;
}

export interface Latency {
  readonly step: string;
  readonly calls: number;
  readonly p50: number | null;
  readonly p95: number | null;
}

export interface PageBackfill {
  readonly name: string;
  /** Of the workflow: `RUNNING`, `COMPLETED`, … */
  readonly status: string;
  readonly startedAt: string;
  readonly link: string | null;
  /** Null where no worker answers, or the backfill has ended. */
  readonly progress: {
    readonly state: 'running' | 'paused' | 'done';
    readonly share: number;
    readonly windows: number;
    readonly calls: number;
    readonly callsPerSecond: number;
    readonly secondsLeft: number | null;
  } | null;
}

export interface UsedLimit {
  readonly what: string;
  readonly used: number;
  /** Null where nothing limits it. */
  readonly limit: number | null;
  readonly note: string;
}

export interface PageEvent {
  readonly at: number;
  readonly kind: string;
  /** In words, without personal data. */
  readonly what: string;
  /** Who did it; null where nobody did. */
  readonly actor: string | null;
}

export interface DayVerdict {
  readonly from: number;
  readonly to: number;
  readonly outcome: string;
  readonly level: string;
  readonly listed: number;
  readonly found: number;
  /** Erased, objected to, or too old to be kept; null where the verdict is older than the count. */
  readonly keptOut: number | null;
  readonly missing: number;
  readonly different: number;
  readonly healed: number;
  readonly comparedAt: number;
}
