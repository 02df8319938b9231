/** What `callsync init` has to know, from flags or from questions. */
import type { StarterValue } from '../../config/starter.ts';

export interface Answers {
  readonly baseUrl: string;
  readonly authUrl: string | undefined;
  readonly realm: string | undefined;
  readonly clientId: string | undefined;
  readonly clientSecretFile: string | undefined;
  /** A preset's name; without one the list is probed. */
  readonly preset: string | undefined;
  readonly warehouse: 'postgres' | 'bigquery';
  /** With `postgres`: file that holds the connection URL; the embedded server without it. */
  readonly postgresUrlFile: string | undefined;
  readonly project: string | undefined;
  readonly signingSecretFile: string | undefined;
  readonly publicUrl: string | undefined;
}

type Values = Record<string, StarterValue>;

/** Leaves out what has no value. */
const keep = (values: Readonly<Record<string, StarterValue | undefined>>): Values =>
  Object.fromEntries(Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));

/** The sections of the configuration file. */
export const toConfig = (answers: Answers): Values => {
  const { warehouse, signingSecretFile, preset } = answers;
  const settings =
    warehouse === 'bigquery'
      ? { type: 'bigquery', project: answers.project }
      : { type: 'postgres', url_file: answers.postgresUrlFile };
  return keep({
    source: keep({
      base_url: answers.baseUrl,
      auth_url: answers.authUrl,
      realm: answers.realm,
      client_id: answers.clientId,
      client_secret_file: answers.clientSecretFile,
      list: preset === undefined ? undefined : { preset },
    }),
    warehouses: { [warehouse]: keep(settings) },
    webhook: keep({
      enabled: signingSecretFile !== undefined,
      public_url: answers.publicUrl,
      secrets: signingSecretFile === undefined ? undefined : [{ name: 'current', secret_file: signingSecretFile }],
    }),
  });
};
