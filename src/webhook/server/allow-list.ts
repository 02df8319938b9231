/** IP addresses and CIDR ranges from which deliveries are taken. */
import { BlockList, isIP } from 'node:net';
import { terminal } from '../../errors.ts';

export type MayCall = (address: string) => boolean;

/** @throws CallsyncError CONFIG_INVALID where an entry is neither an address nor a CIDR range. */
export const createAllowList = (entries: readonly string[]): MayCall => {
  const list = new BlockList();
  for (const entry of entries) addEntry(list, entry);
  return (address) => {
    const plain = address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address;
    const family = isIP(plain);
    return family !== 0 && list.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  };
};

const addEntry = (list: BlockList, entry: string): void => {
  const [address = '', prefix, ...rest] = entry.split('/');
  const family = isIP(address);
  const bits = prefix === undefined ? undefined : Number(prefix);
  const widest = family === 6 ? 128 : 32;
  if (
    family === 0 ||
    rest.length > 0 ||
    (bits !== undefined && !(Number.isInteger(bits) && bits >= 0 && bits <= widest))
  ) {
    throw terminal('CONFIG_INVALID', `webhook.allow_from: "${entry}" is neither an address nor a CIDR range.`, {
      hint: 'Write entries such as 203.0.113.7 or 203.0.113.0/24.',
    });
  }
  const name = family === 6 ? 'ipv6' : 'ipv4';
  if (bits === undefined) list.addAddress(address, name);
  else list.addSubnet(address, bits, name);
};
