/** A thread that applies the rules to the bodies that it is sent; see `threads.ts`. */
import { Tinypool } from 'tinypool';
import { asBuffer, type Bytes, createPrivacy } from './privacy.ts';
import type { ThreadData } from './threads.ts';

const { config, ...keys } = Tinypool.workerData as ThreadData;
const { admit } = createPrivacy(config, keys);

export default (bodies: readonly Bytes[]) => bodies.map((body) => admit(asBuffer(body)));
