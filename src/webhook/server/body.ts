/**
 * Reads request bodies as bytes, within one memory limit that senders share. A valid signature makes a sender known.
 * Bandwidth: while a known sender waits, one body of all unknown senders is read at a time. While several unknown
 * senders are active, each gets two.
 * Memory: unknown senders together have half of it, or room for one body. Beyond a limit, the largest sender loses a
 * body; a known one only if no unknown one sends.
 */
import type { IncomingMessage } from 'node:http';
import { MessageChannel } from 'node:worker_threads';
import type { WebhookConfig } from '../../../schemas/config/webhook.ts';

type BodyRefusal = 'too_large' | 'overload' | 'incomplete' | 'closing' | 'held_back';

/** Why a body was not read to its end. */
export class BodyError extends Error {
  readonly refusal: BodyRefusal;
  readonly bytesRead: number;
  constructor(refusal: BodyRefusal, bytesRead = 0) {
    super(refusal);
    this.name = 'BodyError';
    this.refusal = refusal;
    this.bytesRead = bytesRead;
  }
}

export type BodyReader = ReturnType<typeof createBodyReader>;

interface ComingBody {
  readonly request: IncomingMessage;
  readonly sender: string;
  readonly startedAt: number;
  bytes(): number;
  abandon(refusal: BodyRefusal): void;
}

/** Bodies of one unknown sender that are read at once while others send too. */
const sharedReadings = 2;
/** Memory that a delivery takes in addition to its body. */
const overheadBytes = 1024;

/** The bodies that are being read or held, and the rule by which they share bandwidth and memory. */
class SharedBodies {
  /** An array, as the lists of the group commit are. */
  readonly readings: ComingBody[] = [];
  held = 0;
  private readonly heldBy = new Map<string, number>();
  private readonly isKnown: (sender: string) => boolean;
  readonly limits: WebhookConfig['limits'];

  constructor(limits: WebhookConfig['limits'], isKnown: (sender: string) => boolean) {
    this.isKnown = isKnown;
    this.limits = limits;
  }

  hold(sender: string, bytes: number): void {
    this.held += bytes;
    const own = (this.heldBy.get(sender) ?? 0) + bytes;
    if (own > 0) this.heldBy.set(sender, own);
    else this.heldBy.delete(sender);
  }

  isOver(): boolean {
    if (this.readings.length === 0) return false;
    const { body_bytes, inflight_bytes } = this.limits;
    if (this.held > inflight_bytes) return true;
    const mostUnknown = Math.max(inflight_bytes / 2, body_bytes + overheadBytes);
    return this.listUnknown().reduce((sum, reading) => sum + reading.bytes(), 0) > mostUnknown;
  }

  /** Bodies of unknown senders. Senders are few: the bodies, of which there are many, are looked at only where one is unknown. */
  private listUnknown(): ComingBody[] {
    for (const one of this.heldBy.keys())
      if (!this.isKnown(one)) return this.readings.filter(({ sender }) => !this.isKnown(sender));
    return [];
  }

  /** Unknown senders first, then the sender with most bytes; of its bodies, the one with most memory over time. */
  costliest(): ComingBody | undefined {
    const now = performance.now();
    const rank = ({ sender, startedAt, bytes }: ComingBody) => [
      this.isKnown(sender) ? 0 : 1,
      this.heldBy.get(sender) ?? 0,
      bytes() * (now - startedAt),
    ];
    let found: ComingBody | undefined;
    let highest: readonly number[] = [];
    for (const reading of this.readings) {
      const own = rank(reading);
      const differs = own.findIndex((value, index) => value !== highest[index]);
      if ((own[differs] ?? 0) < (highest[differs] ?? 0)) continue;
      found = reading;
      highest = own;
    }
    return found;
  }

  /** Reads or pauses each body by the rule above. */
  share(): void {
    const unknown = this.listUnknown();
    if (unknown.length === 0) return;
    const senders = [...this.heldBy.keys()];
    const knownSends = senders.some((sender) => this.isKnown(sender));
    // A sender with few bytes goes first, so that a new sender can become known.
    if (knownSends)
      unknown.sort((left, right) => (this.heldBy.get(left.sender) ?? 0) - (this.heldBy.get(right.sender) ?? 0));
    const atOnce = new Map<string, number>();
    for (const [index, { request, sender }] of unknown.entries()) {
      const count = (atOnce.get(sender) ?? 0) + 1;
      atOnce.set(sender, count);
      if (knownSends ? index === 0 : count <= sharedReadings || senders.length === 1) request.resume();
      else request.pause();
    }
  }
}

/** @param isKnown whether the sender has lately sent a verified delivery. */
export const createBodyReader = (limits: WebhookConfig['limits'], isKnown: (sender: string) => boolean) => {
  const bodies = new SharedBodies(limits, isKnown);
  return {
    bytesHeld: () => bodies.held,
    free,
    /** Gives up the bodies that are still on their way. */
    abandonAll() {
      for (const reading of [...bodies.readings]) reading.abandon('closing');
    },
    /** @throws BodyError */
    async read(request: IncomingMessage, sender: string) {
      const announced = Number(request.headers['content-length']);
      if (announced > limits.body_bytes) throw new BodyError('too_large');
      if (request.destroyed) throw new BodyError('incomplete');
      return await collect(bodies, request, sender);
    },
  };
};

const { port1: nowhere, port2: closed } = new MessageChannel();
closed.close();

/**
 * Gives the memory of bytes that nobody needs any more back at once. Left to the collector, it made it mark the whole
 * heap several times a second, which took a sixth of the receiver's processor time.
 */
const free = ({ length, buffer }: Buffer): void => {
  // Small ones are parts of a larger buffer.
  if (length === buffer.byteLength) nowhere.postMessage(undefined, [buffer as ArrayBuffer]);
};

/** `release` gives the bytes of the body back; to be called once the delivery is answered. */
const collect = (bodies: SharedBodies, request: IncomingMessage, sender: string) =>
  new Promise<{ readonly body: Buffer; release(): void }>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let taken = overheadBytes;
    bodies.hold(sender, taken);
    const release = () => {
      bodies.hold(sender, -taken);
      taken = 0;
      bodies.share();
    };
    const settle = () => {
      const at = bodies.readings.indexOf(reading);
      if (at !== -1) bodies.readings.splice(at, 1);
      bodies.share();
      request.off('data', onData).off('end', onEnd).off('close', onCut);
    };
    const reading: ComingBody = {
      request,
      sender,
      startedAt: performance.now(),
      bytes: () => taken,
      abandon(refusal) {
        settle();
        release();
        chunks.length = 0;
        request.pause();
        reject(new BodyError(refusal, length));
      },
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      taken += chunk.length;
      bodies.hold(sender, chunk.length);
      chunks.push(chunk);
      if (length > bodies.limits.body_bytes) {
        reading.abandon('too_large');
        return;
      }
      while (bodies.isOver()) bodies.costliest()?.abandon('overload');
    };
    const onEnd = () => {
      settle();
      const [only] = chunks;
      const body = chunks.length === 1 && only ? only : Buffer.concat(chunks, length);
      for (const chunk of chunks) if (chunk !== body) free(chunk);
      resolve({ body, release });
    };
    const onCut = () => reading.abandon('incomplete');
    bodies.readings.push(reading);
    // Errors of the stream are followed by 'close'; without a listener they would be thrown.
    request
      .on('data', onData)
      .on('end', onEnd)
      .on('close', onCut)
      .on('error', () => {});
    bodies.share();
  });
