/** What `callsync init` has to know, from flags or from questions. */
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import type { StarterValue } from '../../../config/starter.ts';

export interface Answers {
  readonly baseUrl: string;
  readonly authUrl: string | undefined;
  readonly realm: string | undefined;
  readonly clientId: string | undefined;
  readonly clientSecretFile: string | undefined;
  /** A preset's name; without one the list is probed. */
  readonly preset: string | undefined;
  /** A kind of warehouse, with the answers to its questions by their keys. */
  readonly warehouse: string;
  readonly settings: Readonly<Record<string, string | undefined>>;
  readonly signingSecretFile: string | undefined;
  readonly publicUrl: string | undefined;
}

type Values = Record<string, StarterValue>;

/** Leaves out what has no value. */
const keep = (values: Readonly<Record<string, StarterValue | undefined>>): Values =>
  Object.fromEntries(Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));

/** Data of its own for each service. The account of the embedded PostgreSQL cannot enter root's home. */
const dataDirOf = (folder: string): string =>
  process.getuid?.() === 0 && `${folder}/`.startsWith(`${homedir()}/`)
    ? join('/var/lib/callsync', basename(folder))
    : './.callsync';

/** The sections of the configuration file. */
export const toConfig = (answers: Answers, folder: string): Values => {
  const { warehouse, settings, signingSecretFile, preset } = answers;
  return keep({
    source: keep({
      base_url: answers.baseUrl,
      auth_url: answers.authUrl,
      realm: answers.realm,
      client_id: answers.clientId,
      client_secret_file: answers.clientSecretFile,
      list: preset === undefined ? undefined : { preset },
    }),
    store: { data_dir: dataDirOf(folder) },
    warehouses: { [warehouse]: keep({ type: warehouse, ...settings }) },
    webhook: keep({
      enabled: signingSecretFile !== undefined,
      public_url: answers.publicUrl,
      secrets: signingSecretFile === undefined ? undefined : [{ name: 'current', secret_file: signingSecretFile }],
    }),
  });
};
