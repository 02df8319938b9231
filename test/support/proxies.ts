/** Real proxies before receivers, each with the very block of docs/guides/proxies.md, on addresses of loopback. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '../../src/local/local-process.ts';
import { makeCertificate } from './certificate.ts';
import { endProcess } from './installation.ts';
import { read } from './repository.ts';
import { installDebian, run, startServer } from './tools.ts';

const page = read('docs/guides/proxies.md');

/** The block of the page. @param count of receivers: the page says what one receiver alone omits */
const blockOf = (name: string, count: number): string => {
  const block = new RegExp(`^\`\`\`${name}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(page)?.[1];
  if (block === undefined) throw new Error(`docs/guides/proxies.md has no block for ${name}`);
  return count > 1 ? block : block.replaceAll(/^.*10\.0\.0\.12.*\n/gm, '').replaceAll(/^.*# two receivers\n/gm, '');
};

interface Kind {
  readonly program: string;
  /** A whole configuration around the block. */
  readonly file: (block: string, folder: string, port: number) => string;
  readonly args: (file: string) => readonly string[];
}

const modules =
  'mpm_event authz_core socache_shmcb ssl slotmem_shm proxy proxy_http proxy_balancer lbmethod_byrequests';

const kinds = {
  nginx: {
    program: '/usr/sbin/nginx',
    file: (block, folder) =>
      `daemon off; user root; pid ${folder}/pid; error_log ${folder}/log;\n${block.replace('http {', 'http { access_log off;')}`,
    args: (file) => ['-c', file],
  },
  haproxy: { program: '/usr/sbin/haproxy', file: (block) => block, args: (file) => ['-db', '-f', file] },
  caddy: {
    program: '/usr/bin/caddy',
    file: (block, folder, port) =>
      `{\nadmin off\nauto_https disable_redirects\nstorage file_system ${folder}\n}\n${block.replace(/^localhost /m, `localhost:${port} `)}`,
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
  apache: {
    program: '/usr/sbin/apache2',
    file: (block, folder, port) => {
      const loaded = modules.split(' ').map((one) => `LoadModule ${one}_module /usr/lib/apache2/modules/mod_${one}.so`);
      return `${loaded.join('\n')}\nServerRoot ${folder}\nDefaultRuntimeDir ${folder}\nPidFile ${folder}/pid
ErrorLog ${folder}/log\nUser www-data\nServerName localhost\nListen ${port}\n${block}`;
    },
    args: (file) => ['-D', 'FOREGROUND', '-f', file],
  },
} satisfies Readonly<Record<string, Kind>>;

export type ProxyName = keyof typeof kinds;
export const proxyNames = Object.keys(kinds) as ProxyName[];

/** nginx before a list, with its log of requests as the status of each. @param limit of `limit_req`, whose refusals are 503 by default */
export const startListProxy = async (input: { port: number; upstream: string; folder: string; limit?: string }) => {
  const { port, upstream, folder, limit } = input;
  const log = join(folder, `requests-${limit === undefined ? 'all' : 'limited'}`);
  const [zone, inForce] =
    limit === undefined
      ? ['', '']
      : [`limit_req_zone $binary_remote_addr zone=list:1m rate=${limit};`, 'limit_req zone=list burst=1;'];
  const block = `events {} http { log_format status $status; ${zone} server { listen 127.0.0.1:${port}; access_log ${log} status;
    location / { ${inForce} proxy_pass ${new URL(upstream).origin}; } } }`;
  const file = join(folder, 'list.conf');
  await writeFile(file, `daemon off; user root; pid ${folder}/list.pid; error_log ${folder}/list.log;\n${block}`);
  const answers = () => fetch(`http://127.0.0.1:${port}/`).then(Boolean, () => false);
  const child = await startServer(kinds.nginx.program, kinds.nginx.args(file), answers);
  const statuses = async () => (await readFile(log, 'utf8')).trim().split('\n');
  return { statuses, close: () => endProcess(child, 'SIGTERM') };
};

/** As its program says it. */
export const versionOf = async (name: ProxyName): Promise<string> => {
  const option = name === 'caddy' ? 'version' : '-v';
  return /\d+(\.\d+)+/.exec(await run(`${kinds[name].program} ${option} 2>&1`))?.[0] ?? '';
};

/** Installs those that are missing; needs root. */
export const installProxies = () =>
  installDebian({
    nginx: kinds.nginx.program,
    haproxy: kinds.haproxy.program,
    caddy: kinds.caddy.program,
    apache2: kinds.apache.program,
  });

/**
 * Listens when it resolves.
 * @param receivers addresses of loopback, at most as many as the page has
 * @param change of the block, for settings that the page does not have
 */
export const startProxy = async (
  name: ProxyName,
  input: {
    readonly receivers: readonly string[];
    readonly folder: string;
    readonly change?: (block: string) => string;
  },
) => {
  const { receivers, change = (block) => block } = input;
  const { program, file, args }: Kind = kinds[name];
  const folder = join(input.folder, name);
  const [port, inner] = [await findFreePort(), await findFreePort()];
  const { cert, key } = makeCertificate();
  const [path, certificate] = [join(folder, 'conf'), join(folder, 'localhost')];
  const [one = '', two = ''] = receivers;
  const block = blockOf(name, receivers.length)
    .replaceAll('/etc/ssl/calls.example.com', certificate)
    .replaceAll('calls.example.com', 'localhost')
    .replaceAll(/\b443\b/g, String(port))
    .replaceAll(/\b8799\b/g, String(inner))
    .replaceAll('10.0.0.11', one)
    .replaceAll('10.0.0.12', two);
  await mkdir(folder, { recursive: true, mode: 0o755 });
  // HAProxy reads both from one file, others the certificate alone.
  await writeFile(`${certificate}.pem`, cert + key);
  await writeFile(`${certificate}.key`, key);
  await writeFile(path, file(change(block), folder, port));
  const url = `https://localhost:${port}/webhook`;
  const get = () => fetch(url.replace('https', 'http')).then(Boolean, (error) => error.cause?.code !== 'ECONNREFUSED');
  const child = await startServer(program, args(path), get, { env: { HOME: folder, PATH: process.env.PATH } });
  return { url, ca: cert, close: () => endProcess(child, 'SIGTERM') };
};
