import type { SimulatorAddresses } from '../../src/simulator/start-simulator.ts';

/** A token by the plain grant of interface §4.1. */
export const requestToken = async (simulator: SimulatorAddresses): Promise<string> => {
  const response = await fetch(simulator.tokenUrl, {
    method: 'POST',
    body: new URLSearchParams({
      client_id: simulator.clientId,
      client_secret: simulator.clientSecret,
      grant_type: 'client_credentials',
    }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
};
