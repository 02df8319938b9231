/** The addresses on which a process and its descendants listen, as Linux tells; elsewhere nothing is known. */
import { execFileSync } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer } from 'node:net';

/** Takes ports, unless somebody else has them, which serves as well. */
export const takePorts = (...ports: readonly number[]) => {
  const servers = ports.map((port) =>
    // A client that looks at the port is sent away at once: the server closes only when nobody is connected.
    createServer((socket) => socket.destroy())
      .on('error', () => undefined)
      .listen(port, '127.0.0.1'),
  );
  const close = (): void => {
    for (const server of servers) server.close();
  };
  return { close };
};

/** `address:port` in the kernel's hexadecimal, of IPv4 and IPv6 sockets; empty where /proc does not tell. */
export const listeningOf = async (pid: number): Promise<string[]> => {
  const sockets = await listeningSockets();
  const inodes = await Promise.all(descendantsOf(pid).map(socketsOf));
  return inodes.flat().flatMap((inode) => sockets.get(inode) ?? []);
};

/** 127.0.0.0/8, ::1, or 127.0.0.0/8 mapped into IPv6; the kernel writes each 32 bits in the machine's byte order. */
export const isLoopback = (address: string): boolean =>
  /^[0-9A-F]{6}7F:/.test(address) || /^0{24}01000000:/.test(address) || /^0{16}FFFF0000[0-9A-F]{6}7F:/.test(address);

const listenState = '0A';

const listeningSockets = async (): Promise<Map<string, string>> => {
  const sockets = new Map<string, string>();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === listenState && local !== undefined && inode !== undefined) sockets.set(inode, local);
    }
  }
  return sockets;
};

const descendantsOf = (pid: number): number[] => {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const processes = lines.map((line) => line.trim().split(/\s+/).map(Number));
  const found = [pid];
  for (const one of found) found.push(...processes.flatMap(([child = 0, parent]) => (parent === one ? [child] : [])));
  return found;
};

const socketsOf = async (pid: number): Promise<string[]> => {
  const files = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const targets = await Promise.all(files.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
};
