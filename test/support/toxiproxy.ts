/** A real toxiproxy: a TCP proxy a server, whose connections become slow, are reset, or reach nothing. */
import { join } from 'node:path';
import { findFreePort } from '../../src/local/local-process.ts';
import { cacheFolderOf, findInstalled, isExecutable } from '../../src/local/locate-program.ts';
import { endProcess } from './installation.ts';
import { run, startServer } from './tools.ts';
import { succeeds } from './until.ts';

const version = '2.12.0';

/** On PATH, in the cache, or built into the cache. */
const locateProgram = async (): Promise<string> => {
  const installed = await findInstalled('toxiproxy-server', { configured: undefined, env: process.env, refuse: Error });
  if (installed !== undefined) return installed;
  const folder = cacheFolderOf(`toxiproxy-${version}`, process.env);
  const program = join(folder, 'server');
  if (!(await isExecutable(program)))
    await run(`GOBIN="${folder}" go install github.com/Shopify/toxiproxy/v2/cmd/server@v${version}`);
  return program;
};

const faults = {
  latency: { type: 'latency', attributes: { latency: 300, jitter: 200 } },
  resets: { type: 'reset_peer', attributes: { timeout: 200 } },
  /** Connections stay open, and nothing comes through. */
  partition: { type: 'timeout', attributes: { timeout: 0 } },
  /** New connections are refused, and open ones end. */
  refusal: undefined,
} as const;
export type Fault = keyof typeof faults;
export const allFaults = Object.keys(faults) as Fault[];

/** @param upstreams `host:port` of each server */
export const startToxiproxy = async <Name extends string>(upstreams: Readonly<Record<Name, string>>) => {
  const port = await findFreePort();
  const ask = async (path: string, body?: unknown): Promise<unknown> => {
    const method = body === undefined ? 'GET' : 'POST';
    const answer = await fetch(`http://127.0.0.1:${port}/${path}`, { method, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`toxiproxy answers ${answer.status} to ${path}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const args = ['-host', '127.0.0.1', '-port', String(port)];
  const server = await startServer(await locateProgram(), args, () => succeeds(ask('version')));
  const addresses: Partial<Record<Name, string>> = {};
  for (const [name, upstream] of Object.entries(upstreams) as [Name, string][]) {
    const made = await ask('proxies', { name, upstream, listen: '127.0.0.1:0', enabled: true });
    addresses[name] = (made as { listen: string }).listen;
  }
  return {
    /** Address of the proxy before each server. */
    addresses: addresses as Record<Name, string>,
    disturb: async (name: Name, fault: Fault): Promise<void> => {
      const toxic = faults[fault];
      if (toxic === undefined) return void (await ask(`proxies/${name}`, { enabled: false }));
      for (const stream of ['upstream', 'downstream'])
        await ask(`proxies/${name}/toxics`, { ...toxic, stream, name: `${fault}-${stream}` });
    },
    /** Ends all faults. */
    heal: async () => void (await ask('reset', {})),
    close: () => endProcess(server, 'SIGTERM'),
  };
};
