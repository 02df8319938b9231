/** Checks that the MRCP interface answers through the VPN (interface §5.3): a bare connection, no token, no bytes. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { SourceConfig } from '../../../../schemas/config/source.ts';
import { errorCode } from '../../../lib/errors.ts';
import { type Finding, ok, silent, skipped } from './check.ts';

type Fault = readonly [message: string, hint: string];

const noRoute: Fault = [
  'has no route from here.',
  'Start the VPN; if it is up, ask the account manager whether its routes cover that address.',
];
const unknownHost: Fault = [
  'has a host that cannot be found.',
  'Check source.mrcp.host; if only the VPN’s name server knows it, start the VPN.',
];
const refused: Fault = [
  'refuses connections: the network leads there, but nothing listens or this address is not allowed.',
  'Ask the account manager for the right port, and whether the IP address that the VPN gives you is on the whitelist.',
];
const silence: Fault = [
  'did not answer in time (source.mrcp.timeout_s): a firewall or a whitelist may be dropping the connection.',
  'Check that the VPN is up, and ask the account manager whether your IP address is on the whitelist.',
];

const faults: Readonly<Record<string, Fault>> = {
  ...{ ENOTFOUND: unknownHost, EAI_AGAIN: unknownHost, ECONNREFUSED: refused, ECONNRESET: refused },
  ...{ ETIMEDOUT: silence, TimeoutError: silence },
};

/** Connects to the configured host and port and closes at once. Never throws. */
export const checkMrcp = async ({ host, port, timeout_s }: SourceConfig['mrcp']): Promise<Finding> => {
  if (host === undefined) return skipped('No MRCP host is configured (source.mrcp.host).');
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeout_s * 1000) });
    return ok(`${host}:${port} accepts connections.`);
  } catch (error) {
    const [message, hint] = faults[errorCode(error)] ?? noRoute;
    return silent(`${host}:${port} ${message}`, hint);
  } finally {
    socket.on('error', () => undefined).destroy();
  }
};
