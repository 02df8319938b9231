/** Checks that the MRCP interface answers through the VPN (interface §5.3): a bare connection, no token, no bytes. */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { SourceConfig } from '../../../../schemas/config/source.ts';

type MrcpOutcome = 'not_configured' | 'answers' | 'refused' | 'unreachable' | 'timed_out' | 'unknown_host';

/**
 * Connects to the configured host and port and closes at once. Never throws.
 * `message` = one sentence.
 * `hint` = the next step; absent when the port answers.
 */
export const checkMrcp = async ({ host, port, timeout_s }: SourceConfig['mrcp']) => {
  const started = performance.now();
  const outcome = host === undefined ? 'not_configured' : await reach(host, port, timeout_s * 1000);
  const ms = Math.round(performance.now() - started);
  return { outcome, ms, ...explain(outcome, `${host}:${port}`, timeout_s) };
};

const reach = async (host: string, port: number, timeoutMs: number): Promise<MrcpOutcome> => {
  const address = await lookup(host).catch(() => undefined);
  if (address === undefined) return 'unknown_host';
  const socket = connect({ host: address.address, port });
  const failed = await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) }).then(
    () => undefined,
    ({ code }: NodeJS.ErrnoException) => code ?? '',
  );
  socket.destroy();
  if (failed === undefined) return 'answers';
  if (failed === 'ECONNREFUSED' || failed === 'ECONNRESET') return 'refused';
  return failed === 'ETIMEDOUT' || failed === 'ABORT_ERR' ? 'timed_out' : 'unreachable';
};

const explain = (outcome: MrcpOutcome, address: string, seconds: number) => {
  const [message, hint] = {
    not_configured: ['No MRCP host is configured.', 'Set source.mrcp.host if you use the MRCP interface.'],
    answers: [`${address} accepts connections.`],
    refused: [
      `${address} refuses connections: the network leads there, but nothing listens or this address is not allowed.`,
      'Ask the account manager for the right port, and whether the IP address that the VPN gives you is on the whitelist.',
    ],
    unreachable: [
      `There is no route to ${address}.`,
      'Start the VPN; if it is up, ask the account manager whether its routes cover that address.',
    ],
    timed_out: [
      `${address} did not answer within ${seconds} s: a firewall or a whitelist may be dropping the connection.`,
      'Check that the VPN is up, and ask the account manager whether your IP address is on the whitelist.',
    ],
    unknown_host: [
      `The host of ${address} cannot be found.`,
      'Check source.mrcp.host; if only the VPN’s name server knows it, start the VPN.',
    ],
  }[outcome] as [string, string?];
  return { message, ...(hint === undefined ? {} : { hint }) };
};
