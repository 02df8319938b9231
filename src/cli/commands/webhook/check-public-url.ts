/** Whether the address of the webhook can be reached as the service does: from outside, with a valid certificate. */

import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { dayMs } from '../../../lib/day.ts';
import { errorCode } from '../../../webhook/server/receiver-log.ts';
import { createAddressList } from '../../../webhook/server/senders.ts';
import { type Finding, failed, ok, silent, warning } from '../doctor/check.ts';

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

const checkCertificate = (url: URL, host: string, ca: string | undefined): Promise<Finding> =>
  new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(url.port || 443),
      ...(isIP(host) > 0 ? {} : { servername: host }),
      ...(ca === undefined ? {} : { ca }),
      rejectUnauthorized: false,
    });
    const settle = (finding: Finding): void => {
      socket.destroy();
      resolve(finding);
    };
    socket.setTimeout(handshakeMs, () =>
      settle(silent(`${url.host} did not answer within ${handshakeMs / 1000} s.`, 'Open the port in the firewall.')),
    );
    socket.once('error', (error) =>
      settle(
        silent(
          `${url.host} cannot be reached over TLS (${errorCode(error)}).`,
          'Check that the receiver or its proxy runs and serves HTTPS there.',
        ),
      ),
    );
    socket.once('secureConnect', () => {
      if (!socket.authorized) {
        const wrong = socket.authorizationError as Error | string | null | undefined;
        const why = explainCertificate(wrong instanceof Error ? errorCode(wrong) : String(wrong), host);
        return settle(failed(why, 'Install a certificate for this domain from a public authority, with its chain.'));
      }
      const days = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / dayMs);
      const message = `The certificate is valid for ${host}, for ${days} more days.`;
      settle(days < expiryWarningDays ? warning(message, 'Renew it.') : ok(message));
    });
  });

const explainCertificate = (code: string, host: string): string => {
  const reasons: Readonly<Record<string, string>> = {
    ERR_TLS_CERT_ALTNAME_INVALID: `The certificate is not for ${host}.`,
    CERT_HAS_EXPIRED: `The certificate of ${host} has expired.`,
    DEPTH_ZERO_SELF_SIGNED_CERT: `The certificate of ${host} is self-signed.`,
    SELF_SIGNED_CERT_IN_CHAIN: `The certificate of ${host} is self-signed.`,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: `The certificate chain of ${host} is incomplete, or its authority is unknown.`,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: `The certificate chain of ${host} is incomplete, or its authority is unknown.`,
  };
  return reasons[code] ?? `The certificate of ${host} cannot be trusted (${code}).`;
};
