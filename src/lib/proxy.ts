/** Connections to other machines, through the proxy that the environment names. */
import { type Agent, EnvHttpProxyAgent } from 'undici';
import { terminal } from './errors.ts';

/** This machine is never behind a proxy. */
const local = 'localhost,127.0.0.1,[::1]';

/**
 * Uses HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or their names in lower case.
 * @throws terminal CONFIG_PROXY for an unusable address of a proxy, without the address, which may hold a password.
 */
export const openAgent = (options: Agent.Options = {}): EnvHttpProxyAgent => {
  const except = process.env.no_proxy ?? process.env.NO_PROXY ?? '';
  try {
    return new EnvHttpProxyAgent({ ...options, noProxy: except.trim() === '*' ? '*' : `${local},${except}` });
  } catch (cause) {
    throw terminal('CONFIG_PROXY', 'HTTPS_PROXY or HTTP_PROXY holds no address of a proxy.', {
      hint: 'Write it with its scheme, such as http://proxy.example.com:3128.',
      cause,
    });
  }
};
