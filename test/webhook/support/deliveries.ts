/** Deliveries as the receiver makes them, for tests below HTTP. */
import { createHash, randomUUID } from 'node:crypto';
import type { Delivery } from '../../../src/store/delivery/inbox-writer.ts';
import type { Spool } from '../../../src/webhook/spool/spool.ts';

/** All that a spool holds, taken out of it. */
export const drain = async (spool: Spool): Promise<Delivery[]> => {
  const drained: Delivery[] = [];
  for (let batch = await spool.read(128); batch.length > 0; batch = await spool.read(128)) {
    drained.push(...batch);
    await spool.advance();
  }
  return drained;
};

/** @param more fields of the call */
export const makeDelivery = (id: string, bytes = 200, more: object = {}): Delivery => {
  const body = Buffer.from(JSON.stringify({ unique_id: id, ...more, filler: 'x'.repeat(bytes) }));
  const sent = { deliveryId: id, hookId: 'hook-1', agent: 'Service-Webhook/1.2.0', signingKey: 'primary' };
  const bodyHash = createHash('sha256').update(body).digest();
  return { arrivalId: randomUUID(), receivedAt: new Date(), ...sent, body, bodyHash };
};
