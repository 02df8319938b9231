/**
 * Receivers behind nginx, HAProxy, Caddy and Apache of Debian, with the blocks of docs/guides/proxies.md, and a
 * backfill behind nginx with a limit of requests. About 12 minutes
 * in all, each case as it says. Needs root to install the proxies.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect as openHttp2 } from 'node:http2';
import { Agent as HttpsAgent, request } from 'node:https';
import { connect } from 'node:net';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { type SendAttempt, sendWebhook } from '../../src/lib/send-webhook.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { openStore } from '../../src/store/store.ts';
import { describeClocks } from '../neighbours/clocks-cases.ts';
import { describeDatabases } from '../neighbours/databases-cases.ts';
import { describeIdentity } from '../neighbours/identity-cases.ts';
import { describeReaders } from '../neighbours/readers-cases.ts';
import { useFolder } from '../support/folder.ts';
import { endProcess, installForTest } from '../support/installation.ts';
import { recordCase } from '../support/neighbour-results.ts';
import { useDatabase } from '../support/postgres.ts';
import { startProgram } from '../support/program.ts';
import { installProxies, proxyNames, startListProxy, startProxy, versionOf } from '../support/proxies.ts';
import { until } from '../support/until.ts';
import { deliveryHeaders } from '../webhook/support/raw-http.ts';

type ProxyName = (typeof proxyNames)[number];

const database = useDatabase();
const folder = useFolder('neighbours');
const secret = 'a signing secret';
beforeAll(async () => {
  await installProxies();
  await (await openStore({ url: database.url })).close();
}, 600_000);

/** Receivers with the ports of the page, on addresses of loopback that no other program has. */
const openReceivers = async (count: number, webhook: Record<string, unknown> = {}) => {
  const net = `127.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  const receivers = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const address = `${net}.${index + 11}`;
      const config = join(folder, `${address}.yaml`);
      const settings = {
        store: { url: database.url, data_dir: join(folder, address) },
        webhook: { listen: address, secrets: [{ name: 'main', secret }], trusted_proxies: ['127.0.0.1'], ...webhook },
        operations: { listen: address },
      };
      await writeFile(config, stringify(settings));
      let running: ReturnType<typeof startProgram>;
      const start = async () => {
        running = startProgram(['serve', '--config', config, '--json', '--log-level', 'error']);
        // Other work of the machine must not lengthen the restart: beyond 10 s, no proxy can bridge it.
        setPriority(running.child.pid ?? 0, -15);
        await running.first();
      };
      onTestFinished(() => endProcess(running.child, 'SIGKILL'));
      await start();
      return {
        address,
        /** @returns milliseconds from its end to the next start */
        restart: async () => {
          running.child.kill('SIGTERM');
          expect(await running.ended).toBe(0);
          const ended = performance.now();
          await start();
          return Math.round(performance.now() - ended);
        },
      };
    }),
  );
  return { receivers, addresses: receivers.map(({ address }) => address) };
};

const openProxy = async (name: ProxyName, receivers: readonly string[], change?: (block: string) => string) => {
  const proxy = await startProxy(name, { receivers, folder, ...(change && { change }) });
  onTestFinished(proxy.close);
  return proxy;
};

/** One receiver behind a proxy, whose version is noted. */
const openBehind = async (name: ProxyName, webhook?: Record<string, unknown>, change?: (block: string) => string) => {
  recordCase(name, await versionOf(name));
  const { addresses } = await openReceivers(1, webhook);
  return await openProxy(name, addresses, change);
};

const everyMs = 90;
const restarts = 3;
/** Between two restarts, so that health checks see the receiver again. */
const calmMs = 4_000;

/** Deliveries as the service sends them, one in 90 ms, while each receiver is restarted three times. */
const restartUnderLoad = async (name: ProxyName, count: number) => {
  const { receivers, addresses } = await openReceivers(count);
  const { url, ca } = await openProxy(name, addresses);
  const gaps: number[] = [];
  const sends: Promise<{ delivered: boolean; attempts: readonly SendAttempt[] }>[] = [];
  const timer = setInterval(() => {
    const unique_id = `${name}-${count}-${sends.length}`;
    const body = JSON.stringify({ unique_id, filler: 'x'.repeat(randomInt(50_000)) });
    sends.push(sendWebhook({ url, ca, body, secret }));
  }, everyMs);
  onTestFinished(() => clearInterval(timer));
  for (let round = 0; round < restarts; round += 1)
    for (const { restart } of receivers) {
      await sleep(calmMs);
      gaps.push(await restart());
    }
  await sleep(calmMs);
  clearInterval(timer);
  const results = await Promise.all(sends);
  const failed = results.filter(({ delivered }) => !delivered);
  const first = results.filter(({ attempts }) => attempts.length > 1);
  const slowest = Math.max(...results.flatMap(({ attempts }) => attempts.map(({ ms }) => ms)));
  console.log(
    `${name}, receivers: ${count}: ${results.length} deliveries, ${first.length} failed once, ${failed.length} twice, slowest ${slowest} ms; away for ${gaps.join(', ')} ms`,
  );
  for (const { attempts } of failed.slice(0, 3)) console.log(JSON.stringify(attempts));
  return { failed, first: first.map(({ attempts }) => attempts[0]) };
};

/** Apache does not ask again where no receiver listens: the page says so. About 6 minutes. */
describe('restarts', () => {
  test.each([
    ...proxyNames.map((name) => [name, 2] as const),
    ...proxyNames.filter((name) => name !== 'apache').map((name) => [name, 1] as const),
  ])('%s, receivers: %i: no delivery fails twice', async (name, count) => {
    recordCase(name, await versionOf(name));
    const { failed, first } = await restartUnderLoad(name, count);
    const twice = failed.map(({ attempts }) => attempts);
    expect(twice, JSON.stringify(first)).toEqual([]);
  });
});

/** About half a minute. */
describe('bodies', () => {
  test.each(proxyNames)('%s: a body of 1 kB, 1.1 MB, 8 MB and 16 MiB', async (name) => {
    const { url, ca } = await openBehind(name);
    for (const bytes of [1_000, 1_100_000, 8_000_000, 16 * 1_048_576]) {
      const body = JSON.stringify({ unique_id: `${name}-${bytes}`, filler: 'x'.repeat(bytes - 60) });
      expect(await sendWebhook({ url, ca, body, secret, retry: false }), `${bytes}`).toMatchObject({ delivered: true });
    }
  });
});

/** Blocks of the page with HTTP/2 towards the service; Caddy offers it anyway, Apache would need one more module. */
const withHttp2: Readonly<Partial<Record<ProxyName, (block: string) => string>>> = {
  nginx: (block) => block.replace(' ssl;', ' ssl http2;'),
  haproxy: (block) => block.replace(/(bind .*)/, '$1 alpn h2,http/1.1'),
  caddy: (block) => block,
};

/** About half a minute. */
describe('forms', () => {
  const withoutLength = (body: string) => {
    const { 'Content-Length': _, ...headers } = deliveryHeaders(body, '1', secret);
    return headers;
  };
  const soon = () => ({ signal: AbortSignal.timeout(30_000) });
  const bodyOf = (id: string) => JSON.stringify({ unique_id: id, filler: 'x'.repeat(200_000) });

  test.each(proxyNames)('%s: a body in chunks is taken, after the leave that `Expect` asks for', async (name) => {
    const { url, ca } = await openBehind(name);
    const body = bodyOf(`${name}-chunks`);
    const own = { 'transfer-encoding': 'chunked', expect: '100-continue' };
    const asked = request(url, { method: 'POST', ca, headers: { ...withoutLength(body), ...own } });
    asked.flushHeaders();
    await once(asked, 'continue', soon());
    for (let at = 0; at < body.length; at += 30_000) asked.write(body.slice(at, at + 30_000));
    asked.end();
    const [answer] = await once(asked, 'response', soon());
    answer.resume();
    expect(answer.statusCode).toBe(200);
  });

  test.each(Object.keys(withHttp2) as ProxyName[])('%s: a delivery over HTTP/2 is taken', async (name) => {
    const { url, ca } = await openBehind(name, {}, withHttp2[name]);
    const body = bodyOf(`${name}-http2`);
    const session = openHttp2(url, { ca });
    onTestFinished(() => session.destroy());
    const asked = session.request({ ...withoutLength(body), ':method': 'POST', ':path': '/webhook' }).end(body);
    const [answer] = await once(asked, 'response', soon());
    expect(answer[':status']).toBe(200);
  });
});

/** From an address of its own. */
const statusFrom = async (localAddress: string, url: string, ca: string) => {
  const body = JSON.stringify({ unique_id: `from-${localAddress}` });
  const agent = new HttpsAgent({ localAddress, ca, family: 4 } as object);
  const asked = request(url, { method: 'POST', agent, headers: deliveryHeaders(body, '1', secret) }).end(body);
  const [answer] = await once(asked, 'response');
  answer.resume();
  agent.destroy();
  return answer.statusCode;
};

/** About half a minute. */
describe('addresses', () => {
  const withPort = (block: string) =>
    block.replaceAll('X-Forwarded-For $remote_addr', 'X-Forwarded-For $remote_addr:$remote_port');

  test.each([
    ...proxyNames.map((name) => [name, 'alone', undefined] as const),
    ['nginx', 'with a port, as Azure writes it', withPort] as const,
  ])('%s: the allow list knows the address of the sender, %s', async (name, _how, change) => {
    const allowed = `127.${randomInt(1, 255)}.0.1`;
    const { url, ca } = await openBehind(name, { allow_from: [allowed] }, change);
    expect(await statusFrom(allowed, url, ca)).toBe(200);
    expect(await statusFrom('127.0.0.1', url, ca)).toBe(403);
  });
});

/** About 4 minutes. */
test('limit: a backfill ends behind nginx that limits with 503, with few more requests than without', async () => {
  recordCase('nginx', await versionOf('nginx'));
  const port = await findFreePort();
  const list = { preset: 'activate', pagination: { style: 'offset', size: 20 } };
  const site = await installForTest({
    simulator: { seed: 5, calls: { count: 4_000, utterances: 2 } },
    source: { base_url: `http://127.0.0.1:${port}`, list },
  });
  const run = async (name: string, limit?: string) => {
    const proxy = await startListProxy({ port, upstream: site.simulator.url, folder, ...(limit && { limit }) });
    onTestFinished(proxy.close);
    const begun = performance.now();
    const progress = await (await site.backfill(name, { force: true })).result;
    const statuses = await proxy.statuses();
    await proxy.close();
    const refused = statuses.filter((status) => status === '503').length;
    const seconds = Math.round((performance.now() - begun) / 1000);
    console.log(`${name}: ${statuses.length} requests, ${refused} refused, ${seconds} s`);
    return { requests: statuses.length, refused, progress };
  };
  await site.startWorker();
  const free = await run('free');
  const limited = await run('limited', '2r/s');
  expect(free.requests).toBeGreaterThan(200);
  expect(limited.refused).toBeGreaterThan(0);
  expect(limited.requests).toBeLessThanOrEqual(1.3 * free.requests + 20);
  expect(limited.progress.totals).toMatchObject({ calls: free.progress.totals.calls });
});

/** Keycloak. About 5 minutes, and some to prepare it first. */
describe('identity', describeIdentity);

/** Clocks. About 5 minutes. */
describe('clocks', describeClocks);

/** Programs that read files, tables, answers and metrics. About 2 minutes, and some to install them first. */
describe('readers', describeReaders);

/** PostgreSQL 14 to 18. About 5 minutes. */
describe('databases', describeDatabases);

/** About a minute. */
test('idle: a connection that was idle for as long as a load balancer keeps it takes the next delivery', async () => {
  const { addresses } = await openReceivers(1);
  const socket = connect({ host: addresses[0] ?? '', port: 8780 });
  onTestFinished(() => void socket.destroy());
  let said = '';
  socket.setEncoding('latin1').on('data', (text) => (said += text));
  const deliver = (id: string) => {
    const body = JSON.stringify({ unique_id: id });
    const headers = Object.entries(deliveryHeaders(body, id, secret)).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /webhook HTTP/1.1\r\nHost: a\r\n${headers.join('')}\r\n${body}`);
  };
  const answers = () => said.split('HTTP/1.1 200').length - 1;
  deliver('before');
  await until('the first is answered', () => answers() === 1);
  await sleep(65_000);
  deliver('after');
  await until('the second is answered', () => answers() === 2, 10_000);
});
