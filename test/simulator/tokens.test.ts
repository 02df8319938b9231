import { afterEach, describe, expect, test } from 'vitest';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { type Simulator, startSimulator } from '../../src/simulator/start-simulator.ts';
import { clientOf, requestToken, takeToken } from './api.ts';

let simulator: Simulator;
const start = async (tokens: SimulatorOptions['tokens'] = {}) => {
  simulator = await startSimulator({ calls: { count: 1 }, tokens });
};
afterEach(() => simulator.stop());

describe('token endpoint (interface §4.1)', () => {
  test('answers form, JSON and Basic requests with an access token', async () => {
    await start();
    expect(simulator.tokenUrl).toBe(`${simulator.authUrl}/realms/${simulator.realm}/protocol/openid-connect/token`);
    const form = await requestToken(simulator);
    expect(form.status).toBe(200);
    expect(await form.json()).toMatchObject({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3_600,
    });
    const fields = {
      client_id: simulator.clientId,
      client_secret: simulator.clientSecret,
      grant_type: 'client_credentials',
    };
    const headers = { 'Content-Type': 'application/json' };
    const json = await fetch(simulator.tokenUrl, { method: 'POST', headers, body: JSON.stringify(fields) });
    expect(json.status).toBe(200);
    const basic = Buffer.from(`${simulator.clientId}:${simulator.clientSecret}`).toString('base64');
    const body = new URLSearchParams({ grant_type: 'client_credentials' });
    const viaBasic = await fetch(simulator.tokenUrl, {
      method: 'POST',
      headers: { Authorization: `Basic ${basic}` },
      body,
    });
    expect(viaBasic.status).toBe(200);
    expect((await simulator.stats()).tokens.issued).toBe(3);
  });

  test('refuses wrong credentials and grants, in every form of error body', async () => {
    await start();
    const types = {
      oauth: 'application/json',
      text: 'text/plain',
      html: 'text/html',
      empty: 'text/plain',
      array: 'application/json',
    };
    for (const [errorBody, type] of Object.entries(types)) {
      await simulator.configure({ tokens: { errorBody: errorBody as keyof typeof types } });
      const refused = await requestToken(simulator, { client_secret: 'wrong' });
      expect(refused.status).toBe(401);
      expect(refused.headers.get('content-type')).toContain(type);
    }
    expect((await requestToken(simulator, { client_id: 'other' })).status).toBe(401);
    expect((await requestToken(simulator, { grant_type: 'password' })).status).toBe(400);
    expect((await fetch(simulator.tokenUrl)).status).toBe(405);
  });

  test('surprises: no expires_in, an id_token of a wrong issuer or expired, an outage', async () => {
    await start({ expiresIn: 'absent' });
    expect(await (await requestToken(simulator)).json()).not.toHaveProperty('expires_in');
    const claims = async () => {
      const { id_token } = (await (await requestToken(simulator)).json()) as { id_token: string };
      return JSON.parse(Buffer.from(id_token.split('.')[1] as string, 'base64url').toString());
    };
    await simulator.configure({ tokens: { idToken: 'wrong_issuer' } });
    expect((await claims()).iss).not.toContain(simulator.authUrl);
    await simulator.configure({ tokens: { idToken: 'expired' } });
    expect((await claims()).exp).toBeLessThan(Date.now() / 1_000);
    await simulator.configure({ tokens: { outage: 'status_503' } });
    expect((await requestToken(simulator)).status).toBe(503);
    await simulator.configure({ tokens: { outage: 'reset' } });
    await expect(requestToken(simulator)).rejects.toThrow();
    await simulator.configure({ tokens: { outage: 'none' } });
    expect((await requestToken(simulator)).status).toBe(200);
  });

  test('revokes all tokens at once', async () => {
    await start();
    const { get } = await clientOf(simulator);
    expect((await get('/calls')).status).toBe(200);
    await simulator.revokeTokens();
    expect((await get('/calls')).status).toBe(401);
    expect(await takeToken(simulator)).toEqual(expect.any(String));
  });
});
