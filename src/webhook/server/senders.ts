/** Senders by their remote addresses: which are on a list, what counts as one, and which have lately signed rightly. */
import { BlockList, isIP, isIPv6 } from 'node:net';

export type AddressList = (address: string) => boolean;

/** Senders that have lately signed a delivery rightly. Where room is short, they come before all others. */
export interface KnownSenders {
  /** A delivery of this sender was verified. */
  note(sender: string): void;
  has(sender: string): boolean;
}

const keptMs = 24 * 3_600_000;
/** More are forgotten, the longest unheard of first; a service sends from few addresses. */
const most = 1_000;

/** @param entries addresses or CIDR ranges, as the configuration's schema lets them pass. */
export const createAddressList = (entries: readonly string[]): AddressList => {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const plain = plainAddress(address);
    const family = isIP(plain);
    return family !== 0 && list.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  };
};

/** An IPv4 address as it is; of an IPv6 address its network of 64 bits, all of which one host may use. */
export const senderOf = (address: string): string => {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [left = '', right] = plain.split('::');
  const groups = left === '' ? [] : left.split(':');
  const missing = right === undefined ? 0 : 8 - groups.length - (right === '' ? 0 : right.split(':').length);
  const all = [...groups, ...Array.from({ length: missing }, () => '0'), ...(right ? right.split(':') : [])];
  return all.slice(0, 4).join(':');
};

export const createKnownSenders = (): KnownSenders => {
  const lastVerified = new Map<string, number>();
  return {
    note(sender) {
      lastVerified.delete(sender);
      lastVerified.set(sender, performance.now());
      const [oldest] = lastVerified.keys();
      if (lastVerified.size > most && oldest !== undefined) lastVerified.delete(oldest);
    },
    has: (sender) => performance.now() - (lastVerified.get(sender) ?? Number.NEGATIVE_INFINITY) < keptMs,
  };
};

/** IPv4 that a socket for both families shows as IPv6. */
const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address;
