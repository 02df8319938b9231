/** A plain client of the call API, independent of src/source. */
import type { CallDocument } from '../../schemas/call.ts';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import type { SimulatorAddresses } from '../../src/simulator/start-simulator.ts';
import { openSimulator } from '../support/simulator.ts';

const takeToken = async ({ tokenUrl, clientId, clientSecret }: SimulatorAddresses): Promise<string> => {
  const grant = { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials', scope: 'openid' };
  const answer = await fetch(tokenUrl, { method: 'POST', body: new URLSearchParams(grant) });
  return ((await answer.json()) as { access_token: string }).access_token;
};

/** A simulated service until the end of the test, asked with a fresh token; `path` begins with a slash. */
export const openApi = async (options: SimulatorOptions, scheme = 'bearer') => {
  const simulator = await openSimulator(options);
  const token = await takeToken(simulator);
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(simulator.url + path, { headers: { Authorization: `${scheme} ${token}`, ...headers } });
  const list = async (query: Record<string, string | number> = {}) => {
    const response = await get(`/calls?${new URLSearchParams(query as Record<string, string>)}`);
    if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
    return (await response.json()) as { readonly count: number; readonly data: readonly CallDocument[] };
  };
  return { simulator, token, get, list };
};
