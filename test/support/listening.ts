/** The addresses on which a process and its descendants listen, as Linux tells; elsewhere nothing is known. */
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
  const found = new Set<string>();
  for (const one of await descendantsOf(pid)) {
    for (const inode of await socketsOf(one)) {
      const address = sockets.get(inode);
      if (address !== undefined) found.add(address);
    }
  }
  return [...found];
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

const descendantsOf = async (pid: number): Promise<number[]> => {
  const children = new Map<number, number[]>();
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    // The name of the program, in parentheses, may hold anything.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found = [pid];
  for (const one of found) found.push(...(children.get(one) ?? []));
  return found;
};

const socketsOf = async (pid: number): Promise<string[]> => {
  const inodes: string[] = [];
  for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
    const inode = /^socket:\[(\d+)\]$/.exec(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => ''))?.[1];
    if (inode !== undefined) inodes.push(inode);
  }
  return inodes;
};
