/** Connections to other machines, through the proxy that the environment names. */
import type { Agent } from 'undici';
import api from 'undici/lib/api/index.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import { terminal } from './errors.ts';

// As all of undici begins, without its `fetch`: that one, and that of Node which it loads, take 12 MB of a process.
Object.assign(Dispatcher.prototype, api);

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
    throw terminal('CONFIG_PROXY', 'HTTPS_PROXY or HTTP_PROXY holds no address of a proxy.', { cause });
  }
};
