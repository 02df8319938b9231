/** Whether a configuration holds what the service asks for, so that a file is refused before a worker starts with it. */
import type { ReceiverConfig } from '../../../schemas/config.ts';
import { terminal } from '../../lib/errors.ts';

/** @throws terminal CONFIG_CREDENTIALS that names every key that is missing. */
export const checkCredentials = ({ source, webhook }: ReceiverConfig): void => {
  const missing: string[] = [];
  if (source !== undefined && source.token === undefined && source.token_file === undefined) {
    if (source.client_id === undefined) missing.push('source.client_id');
    if (source.client_secret === undefined && source.client_secret_file === undefined)
      missing.push('source.client_secret_file');
  }
  if (webhook.enabled && webhook.secrets.length === 0 && !webhook.allow_unsigned) missing.push('webhook.secrets');
  if (missing.length === 0) return;
  throw terminal('CONFIG_CREDENTIALS', `Credentials are missing: ${missing.join(', ')}.`, {
    hint: 'Your account manager issues them; keep them in files that the configuration names.',
  });
};
