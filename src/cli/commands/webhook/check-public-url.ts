/** Whether the address of the webhook can be reached as the service does: from outside, with a valid certificate. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { errorCode } from '../../../webhook/server/receiver-log.ts';
import { createAddressList } from '../../../webhook/server/senders.ts';
import { exitCodes } from '../../shell/failures.ts';

export interface PublicUrlFinding {
  readonly about: 'address' | 'certificate';
  readonly outcome: 'ok' | 'warning' | 'failed';
  /** One sentence. */
  readonly message: string;
  readonly hint?: string;
  /** Set where nothing answers. */
  readonly exitCode?: number;
}

/** Loopback, private, link-local, shared and documentation ranges: no service on the internet reaches them. */
const isPrivate = createAddressList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  ...['192.0.2.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '240.0.0.0/4'],
  ...['::/127', 'fc00::/7', 'fe80::/10', '2001:db8::/32'],
]);

const expiryWarningDays = 14;
const handshakeMs = 10_000;

/** Sends no request and never throws. @param options.ca further trusted certificates, PEM. */
export const checkPublicUrl = async (url: URL, options: { readonly ca?: string } = {}): Promise<PublicUrlFinding[]> => {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) > 0 ? [host] : await lookup(host, { all: true }).then(named, () => []);
  const found = [addressFinding(host, addresses)];
  if (addresses.length === 0) return found;
  if (url.protocol === 'https:') return [...found, await checkCertificate(url, host, options.ca)];
  return [
    ...found,
    {
      about: 'certificate',
      outcome: 'warning',
      message: 'The webhook address is not encrypted: call records travel in the open.',
      hint: 'Serve HTTPS (webhook.tls, or a proxy in front) with a certificate valid for the domain.',
    },
  ];
};

const named = (answers: readonly { address: string }[]): string[] => answers.map(({ address }) => address);

const addressFinding = (host: string, addresses: readonly string[]): PublicUrlFinding => {
  if (addresses.length === 0) {
    return {
      about: 'address',
      outcome: 'failed',
      message: `The name ${host} cannot be resolved.`,
      hint: 'Correct webhook.public_url, or publish the name in the DNS.',
    };
  }
  const unreachable = addresses.filter(isPrivate);
  if (unreachable.length === 0) return { about: 'address', outcome: 'ok', message: `${host} is a public address.` };
  return {
    about: 'address',
    outcome: 'failed',
    message: `${host} leads to ${unreachable[0]}, which is in a private network: the service cannot reach it.`,
    hint: 'Give the receiver a public address, or put a reverse proxy with one in front, and set webhook.public_url to it.',
  };
};

const checkCertificate = (url: URL, host: string, ca: string | undefined): Promise<PublicUrlFinding> =>
  new Promise((resolve) => {
    const failed = (message: string, hint: string, exitCode?: number): void =>
      settle({ about: 'certificate', outcome: 'failed', message, hint, exitCode });
    const socket = connect({
      host,
      port: Number(url.port || 443),
      ...(isIP(host) > 0 ? {} : { servername: host }),
      ...(ca === undefined ? {} : { ca }),
      rejectUnauthorized: false,
    });
    const settle = (finding: PublicUrlFinding): void => {
      socket.destroy();
      resolve(finding);
    };
    socket.setTimeout(handshakeMs, () =>
      failed(
        `${url.host} did not answer within ${handshakeMs / 1000} s.`,
        'Open the port in the firewall.',
        exitCodes.unreachable,
      ),
    );
    socket.once('error', (error) =>
      failed(
        `${url.host} cannot be reached over TLS (${errorCode(error)}).`,
        'Check that the receiver or its proxy runs and serves HTTPS there.',
        exitCodes.unreachable,
      ),
    );
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerCertificate();
      const days = Math.floor((Date.parse(certificate.valid_to) - Date.now()) / 86_400_000);
      const wrong = socket.authorizationError as Error | string | null | undefined;
      if (!socket.authorized) {
        const code = wrong instanceof Error ? errorCode(wrong) : String(wrong);
        return failed(
          explainCertificate(code, host),
          'Install a certificate for this domain from a public authority, with its chain.',
        );
      }
      const soon = days < expiryWarningDays;
      return settle({
        about: 'certificate',
        outcome: soon ? 'warning' : 'ok',
        message: `The certificate is valid for ${host}, for ${days} more days.`,
        ...(soon ? { hint: 'Renew it.' } : {}),
      });
    });
  });

const explainCertificate = (code: string, host: string): string => {
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `The certificate is not for ${host}.`;
    case 'CERT_HAS_EXPIRED':
      return `The certificate of ${host} has expired.`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return `The certificate of ${host} is self-signed.`;
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `The certificate chain of ${host} is incomplete, or its authority is unknown.`;
    default:
      return `The certificate of ${host} cannot be trusted (${code}).`;
  }
};
