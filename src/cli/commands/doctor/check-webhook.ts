/** Checks of the webhook: keys, the public address, and a round trip through it. */

import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import type { Config } from '../../../../schemas/config.ts';
import type { Services } from '../../../app/services.ts';
import { errorCode } from '../../../lib/errors.ts';
import { type SendAttempt, sendWebhook } from '../../../lib/send-webhook.ts';
import { dayMs } from '../../../lib/timestamps.ts';
import type { Queryable } from '../../../postgres/database.ts';
import { createSampleStore } from '../../../store/delivery/delivery-statistics.ts';
import { createAddressList } from '../../../webhook/server/senders.ts';
import { readSigningKey, signWith } from '../../../webhook/server/signature.ts';
import { type Checks, type Finding, failed, needStore, ok, silent, skipped, warning } from './check.ts';

type Webhooks = Services<Pick<Config, 'webhook'>>;

/** Bytes of a call of an hour: the default limit of a proxy may be lower. */
const longCallBytes = 2_000_000;
const envelopeBytes = 100;

/**
 * A signed sample through the public address, or `url` in its place, as large as the largest of the newest deliveries.
 * @throws CallsyncError WEBHOOK_SECRET_…
 */
export const roundTrip = async (services: Webhooks, opened: Queryable, url: string): Promise<Finding> => {
  const { webhook } = services.config;
  const store = createSampleStore(opened);
  const bytes = Math.max(longCallBytes, (await store.largest()) ?? 0);
  return await tryRoundTrip({
    url,
    headerPrefix: webhook.header_prefix,
    key: webhook.secrets.length === 0 ? undefined : readSigningKey(webhook.secrets),
    store,
    bytes: Math.min(bytes, webhook.limits.body_bytes - envelopeBytes),
  });
};

export const webhookChecks = (services: Webhooks, opening: Promise<Queryable>): Checks => {
  const { webhook } = services.config;
  if (!webhook.enabled) return { webhook: async () => skipped('Not enabled (webhook.enabled).') };
  const { public_url: url } = webhook;
  return {
    'webhook keys': async () => checkKeys(services),
    'webhook address': async () =>
      url === undefined
        ? warning(
            'webhook.public_url is not set, so callsync cannot try it.',
            'Set webhook.public_url to the address given to the account manager.',
          )
        : checkPublicUrl(new URL(url)),
    'webhook round trip': async () => {
      if (url === undefined) return skipped('Needs webhook.public_url.');
      const store = await needStore(opening);
      if (await store.value<boolean>`SELECT has_table_privilege('inbox', 'DELETE')`)
        return roundTrip(services, store, url);
      return skipped('The role in store.url may not remove a sample. Run callsync doctor where a worker runs.');
    },
  };
};

const checkKeys = ({ config: { webhook } }: Webhooks): Finding => {
  if (webhook.secrets.length === 0 && !webhook.allow_unsigned)
    return failed(
      'No signing secret is configured, so the receiver does not start.',
      'Set webhook.secrets with the secret from the account manager.',
    );
  for (const { name } of webhook.secrets) readSigningKey(webhook.secrets, name);
  if (webhook.allow_unsigned)
    return warning(
      'The receiver accepts unsigned deliveries, so anyone can send call data.',
      'Set webhook.secrets and remove webhook.allow_unsigned.',
    );
  return ok(`In force: ${webhook.secrets.map(({ name }) => name).join(', ')}.`);
};

// A signed sample to the webhook's address, found again in the inbox and removed: it never becomes a call.

/** Sends the sample, then the same bytes with a wrong signature, which must be refused. @throws CallsyncError of the store */
export const tryRoundTrip = async (options: {
  readonly url: string;
  readonly headerPrefix: string;
  /** Undefined where unsigned deliveries are taken. */
  readonly key: ReturnType<typeof readSigningKey> | undefined;
  readonly store: ReturnType<typeof createSampleStore>;
  readonly ca?: string;
  /** Of the sample; few by default. */
  readonly bytes?: number;
  /** Longest from an answer to the row in the inbox. */
  readonly storedWithinMs?: number;
}): Promise<Finding> => {
  const { url, headerPrefix: prefix, key, store, ca, bytes = 0, storedWithinMs = 15_000 } = options;
  const common = { url, body: sampleOf(0), prefix, ...signWith(key), ca };
  const sent = await sendWebhook({ ...common, body: sampleOf(bytes) });
  const last = sent.attempts.at(-1);
  if (!sent.delivered) {
    const small = await sendWebhook({ ...common, retry: false });
    // A proxy may have refused a delivery that the receiver stored. The receiver records its own refusals a little later.
    const answer = small.attempts.at(-1);
    await takeWithin(store, small.deliveryId, small.delivered || answer?.status === 403 ? storedWithinMs : 0);
    await store.take(sent.deliveryId);
    return small.delivered ? explainLimit(url, bytes, last) : explainRefusal(url, answer);
  }
  if (!(await takeWithin(store, sent.deliveryId, storedWithinMs)))
    return failed(
      `${url} accepted a delivery that did not arrive in this inbox.`,
      'Check that the address leads to the receiver of this configuration, and that its store is this one.',
    );
  if (key === undefined)
    return warning(
      'A delivery arrived. The receiver accepts unsigned deliveries, so anyone can send calls.',
      'Ask the account manager for a signing secret, set webhook.secrets and remove webhook.allow_unsigned.',
    );
  const forged = await sendWebhook({ ...common, secret: randomUUID(), retry: false });
  if (!forged.delivered) {
    // The receiver records refusals a little later. Nobody attacks here, so the record would be a false alarm.
    await takeWithin(store, forged.deliveryId, storedWithinMs);
    return ok(
      `The receiver accepted a signed delivery of ${sizeOf(bytes)} in ${last?.ms ?? 0} ms, and refused a forged delivery.`,
    );
  }
  await store.take(forged.deliveryId);
  return failed(
    `${url} accepts deliveries with a wrong signature.`,
    'Remove webhook.allow_unsigned, and check that nothing else answers at that address.',
  );
};

/** Removes a sample once it is stored; false where that takes longer. */
const takeWithin = async (store: ReturnType<typeof createSampleStore>, id: string, ms: number): Promise<boolean> => {
  for (const until = Date.now() + ms; Date.now() <= until; await delay(100)) if (await store.take(id)) return true;
  return false;
};

/** Without unique_id it never becomes a call, even if it cannot be removed. */
const sampleOf = (bytes: number): Buffer =>
  Buffer.from(JSON.stringify({ callsync_check: randomUUID(), filler: 'x'.repeat(bytes) }));

const sizeOf = (bytes: number): string => (bytes < 100_000 ? `${bytes} bytes` : `${(bytes / 1e6).toFixed(1)} MB`);

const explainLimit = (url: string, bytes: number, { status, failure }: Partial<SendAttempt> = {}): Finding =>
  failed(
    `${url} accepts small deliveries, but answers ${status ?? failure ?? 'nothing'} to a delivery of ${sizeOf(bytes)}.`,
    'Give the proxy the body limit of webhook.limits.body_bytes, such as client_max_body_size of nginx.',
  );

const hints: Readonly<Record<number, string>> = {
  403: 'Restart the receiver with this configuration, because it does not know this signing secret. Check webhook.header_prefix and webhook.allow_from.',
  404: 'Correct the path of webhook.public_url, or the path in the proxy; it must lead to webhook.path.',
  503: 'Run callsync status, and read the log of the receiver; it is overloaded or cannot store deliveries.',
};

const explainRefusal = (url: string, { status, failure }: Partial<SendAttempt> = {}): Finding => {
  if (status === undefined)
    return silent(
      `${url} cannot be reached (${failure ?? 'no answer'}).`,
      'Start the receiver (callsync up or callsync serve), and open its port in firewall and proxy.',
    );
  const proxy = 'Check that the address leads to the receiver and that its proxy passes POST and all headers on.';
  return failed(`${url} answers ${status} to a signed delivery.`, hints[status] ?? proxy);
};

// Whether the address of the webhook can be reached as the service does: from outside, with a valid certificate.

/** Loopback, private, link-local, shared and documentation ranges: no service on the internet reaches them. */
const isPrivate = createAddressList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  ...['192.0.2.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '240.0.0.0/4'],
  ...['::/127', 'fc00::/7', 'fe80::/10', '2001:db8::/32'],
]);

const expiryWarningDays = 14;
const handshakeMs = 10_000;

/** Sends no request and never throws. @param options.ca further trusted certificates, PEM. */
export const checkPublicUrl = async (url: URL, options: { readonly ca?: string } = {}): Promise<Finding[]> => {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const resolved = isIP(host) > 0 ? [{ address: host }] : await lookup(host, { all: true }).catch(() => []);
  if (resolved.length === 0) {
    const hint = 'Correct webhook.public_url, or publish the name in the DNS.';
    return [failed(`The name ${host} cannot be resolved.`, hint)];
  }
  const unreachable = resolved.find(({ address }) => isPrivate(address));
  const address =
    unreachable === undefined
      ? ok(`${host} is a public address.`)
      : failed(
          `${host} leads to ${unreachable.address}, which is in a private network: the service cannot reach it.`,
          'Give the receiver a public address, or put a reverse proxy with one in front, and set webhook.public_url to it.',
        );
  if (url.protocol === 'https:') return [address, await checkCertificate(url, host, options.ca)];
  const open = warning(
    'The webhook address is not encrypted: call records travel in the open.',
    'Serve HTTPS (webhook.tls, or a proxy in front) with a certificate valid for the domain.',
  );
  return [address, open];
};

const checkCertificate = async (url: URL, host: string, ca: string | undefined): Promise<Finding> => {
  const servername = isIP(host) > 0 ? undefined : host;
  const socket = connect({ host, port: Number(url.port || 443), servername, ca, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(handshakeMs) });
    if (!socket.authorized) {
      const wrong = socket.authorizationError as Error | string | null | undefined;
      const why = explainCertificate(wrong instanceof Error ? errorCode(wrong) : String(wrong), host);
      return failed(why, 'Install a certificate for this domain from a public authority, with its chain.');
    }
    const days = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / dayMs);
    const message = `The certificate is valid for ${host}, for ${days} more days.`;
    return days < expiryWarningDays ? warning(message, 'Renew it.') : ok(message);
  } catch (error) {
    if ((error as Error).name === 'AbortError')
      return silent(`${url.host} did not answer within ${handshakeMs / 1000} s.`, 'Open the port in the firewall.');
    const hint = 'Check that the receiver or its proxy runs and serves HTTPS there.';
    return silent(`${url.host} cannot be reached over TLS (${errorCode(error)}).`, hint);
  } finally {
    socket.destroy();
  }
};

const explainCertificate = (code: string, host: string): string => {
  const reasons: Readonly<Record<string, string>> = {
    ERR_TLS_CERT_ALTNAME_INVALID: `The certificate is not for ${host}.`,
    CERT_HAS_EXPIRED: `The certificate of ${host} has expired.`,
  };
  if (/SELF_SIGNED/.test(code)) return `The certificate of ${host} is self-signed.`;
  if (/^UNABLE_TO_(VERIFY_LEAF|GET_ISSUER)/.test(code))
    return `The certificate chain of ${host} is incomplete, or its authority is unknown.`;
  return reasons[code] ?? `The certificate of ${host} cannot be trusted (${code}).`;
};
