/** The signing secrets in force, kept up with their files while the receiver runs. */
import type { SigningSecretConfig } from '../../../schemas/config/webhook.ts';
import { terminal } from '../../errors.ts';
import { type FileContents, readFiles, watchFiles } from '../../file-watch.ts';
import { withoutLineEnd } from '../../secret.ts';
import type { ReceiverLog } from './receiver-log.ts';
import type { SigningKey } from './signature.ts';

export interface SigningKeys {
  current(): readonly SigningKey[];
  close(): void;
}

/**
 * Throws when no secret is configured (unless unsigned deliveries are allowed), or one cannot be read or is empty.
 * Later, a file that is emptied or removed retires its key; the last key left is never retired that way.
 */
export const openSigningKeys = (options: {
  secrets: readonly SigningSecretConfig[];
  allowUnsigned: boolean;
  log: ReceiverLog;
  intervalMs?: number;
}): SigningKeys => {
  const { secrets, allowUnsigned, log, intervalMs = 1_000 } = options;
  if (secrets.length === 0 && !allowUnsigned) {
    throw terminal('WEBHOOK_SECRET_MISSING', 'No signing secret is configured for the webhook receiver.', {
      hint: 'Set webhook.secrets, or webhook.allow_unsigned: true to take deliveries from anyone.',
    });
  }
  if (allowUnsigned)
    log.warn({}, 'Unsigned webhook deliveries are taken (webhook.allow_unsigned): anyone can send them.');
  const contents = readFiles(secrets.flatMap((entry) => entry.secret_file ?? []));
  let keys = secrets.map((entry) => keyOf(entry, contents) ?? refuseEmpty(entry));

  const watch = watchFiles({
    initial: contents,
    intervalMs,
    onChange: (changed) => {
      const next = secrets.flatMap((entry) => keyOf(entry, changed) ?? []);
      if (next.length === 0) {
        log.error({}, 'All signing secret files are empty or gone; the secrets read last stay in force.');
        return;
      }
      keys = next;
      log.info({ keys: next.map((key) => key.name) }, 'Signing secrets read again.');
    },
  });
  return { current: () => keys, close: () => watch.close() };
};

/**
 * One of the configured keys as it is now, for signing as the service does; the first without a name.
 * @throws CallsyncError WEBHOOK_SECRET_MISSING, WEBHOOK_SECRET_EMPTY
 */
export const readSigningKey = (secrets: readonly SigningSecretConfig[], name?: string): SigningKey => {
  const entry = name === undefined ? secrets[0] : secrets.find((candidate) => candidate.name === name);
  if (entry === undefined) {
    const missing = name === undefined ? 'No signing secret is configured.' : `There is no signing secret "${name}".`;
    throw terminal('WEBHOOK_SECRET_MISSING', missing, { hint: 'Set webhook.secrets.' });
  }
  const key = keyOf(entry, readFiles(secrets.flatMap((one) => one.secret_file ?? [])));
  return key ?? refuseEmpty(entry);
};

const refuseEmpty = (entry: SigningSecretConfig): never => {
  throw terminal('WEBHOOK_SECRET_EMPTY', `The signing secret "${entry.name}" is empty or its file cannot be read.`, {
    hint: `Check webhook.secrets (${entry.secret_file ?? 'secret'}).`,
  });
};

const keyOf = (entry: SigningSecretConfig, contents: FileContents): SigningKey | undefined => {
  const secret =
    entry.secret_file === undefined
      ? Buffer.from(entry.secret ?? '')
      : withoutLineEnd(contents.get(entry.secret_file) ?? Buffer.alloc(0));
  if (secret.length === 0) return undefined;
  return { name: entry.name, secret, hookIds: entry.hook_ids && new Set(entry.hook_ids) };
};
