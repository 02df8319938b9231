/** A plain client of the call API, independent of src/source. */
import type { CallDocument } from '../../schemas/call.ts';
import type { SimulatorAddresses } from '../../src/simulator/start-simulator.ts';

export interface ListBody {
  readonly count: number;
  readonly data: readonly CallDocument[];
}

const requestToken = (simulator: SimulatorAddresses, fields: Record<string, string> = {}): Promise<Response> =>
  fetch(simulator.tokenUrl, {
    method: 'POST',
    body: new URLSearchParams({
      client_id: simulator.clientId,
      client_secret: simulator.clientSecret,
      grant_type: 'client_credentials',
      scope: 'openid',
      ...fields,
    }),
  });

const takeToken = async (simulator: SimulatorAddresses): Promise<string> =>
  ((await (await requestToken(simulator)).json()) as { access_token: string }).access_token;

/** Asks the call API with a fresh token; `path` begins with a slash. */
export const clientOf = async (simulator: SimulatorAddresses, scheme = 'bearer') => {
  const token = await takeToken(simulator);
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(simulator.url + path, { headers: { Authorization: `${scheme} ${token}`, ...headers } });
  const list = async (query: Record<string, string | number> = {}): Promise<ListBody> => {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) parameters.set(name, String(value));
    const response = await get(`/calls?${parameters}`);
    if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
    return (await response.json()) as ListBody;
  };
  return { token, get, list };
};

export const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};
