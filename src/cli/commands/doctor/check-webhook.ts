/** Checks of the webhook: keys, the public address, and a round trip through it. */

import { createSampleStore } from '../../../store/delivery/delivery-statistics.ts';
import type { Store } from '../../../store/store.ts';
import { readSigningKey } from '../../../webhook/server/signature.ts';
import type { Services } from '../../parts/services.ts';
import { checkPublicUrl } from '../webhook/check-public-url.ts';
import { tryRoundTrip } from '../webhook/round-trip.ts';
import { type Check, type Finding, failed, ok, skipped, warning } from './check.ts';
import { needStore } from './check-installation.ts';

/** A signed sample through the public address, or `url` in its place. @throws CallsyncError WEBHOOK_SECRET_… */
export const roundTrip = (services: Services, store: Store, url: string): Promise<Finding> => {
  const { webhook } = services.config;
  return tryRoundTrip({
    url,
    headerPrefix: webhook.header_prefix,
    key: webhook.secrets.length === 0 ? undefined : readSigningKey(webhook.secrets),
    store: createSampleStore(store),
  });
};

export const webhookChecks = (services: Services, opening: Promise<Store>): Check[] => {
  const { webhook } = services.config;
  if (!webhook.enabled) return [{ name: 'webhook', run: async () => skipped('Not enabled (webhook.enabled).') }];
  return [
    { name: 'webhook keys', run: async () => checkKeys(services) },
    { name: 'webhook address', run: () => checkAddress(webhook.public_url) },
    {
      name: 'webhook round trip',
      run: async () => {
        if (webhook.public_url === undefined) return skipped('Needs webhook.public_url.');
        return roundTrip(services, await needStore(opening), webhook.public_url);
      },
    },
  ];
};

const checkKeys = ({ config: { webhook } }: Services): Finding => {
  if (webhook.secrets.length === 0 && !webhook.allow_unsigned) {
    return failed(
      'No signing secret is configured: the receiver does not start.',
      'Set webhook.secrets with the secret from the account manager.',
    );
  }
  for (const { name } of webhook.secrets) readSigningKey(webhook.secrets, name);
  if (webhook.allow_unsigned) {
    return warning(
      'Unsigned deliveries are taken: anyone can send call data.',
      'Set webhook.secrets and remove webhook.allow_unsigned.',
    );
  }
  return ok(`In force: ${webhook.secrets.map(({ name }) => name).join(', ')}.`);
};

const checkAddress = async (url: string | undefined): Promise<readonly Finding[]> => {
  if (url !== undefined) return checkPublicUrl(new URL(url));
  return [
    warning(
      'The public address is not configured, so it cannot be tried.',
      'Set webhook.public_url to the address given to the account manager.',
    ),
  ];
};
