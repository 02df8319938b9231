/**
 * Readers of a warehouse: analysts read everything, restricted readers no transcript, telephone number or free field.
 */

/** PostgreSQL: names of group roles. BigQuery: principals such as `group:analysts@example.com`. */
export interface Readers {
  readonly analyst: string;
  readonly restricted: string;
  /** Schema or dataset of the marts, which analysts also read. */
  readonly marts: string;
  /** Marts and their columns that the restricted read; none where callsync makes no marts. */
  readonly openMarts: Readonly<Record<string, readonly string[]>>;
}

export interface Grants {
  /** The work of `apply`, as SQL for review; steps that are not SQL are comments. Idempotent. */
  statements(readers: Readers): readonly string[];
  /** Creates missing roles and views, grants the rights, and revokes all other rights of the restricted role here. */
  apply(readers: Readers): Promise<void>;
}

/** Schema or dataset of the views that the restricted may read. */
export const restrictedName = (name: string): string => `${name}_restricted`;
