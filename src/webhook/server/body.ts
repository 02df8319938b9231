/** Reads request bodies as bytes, within one budget for all that are in memory. */
import type { IncomingMessage } from 'node:http';

export type BodyRefusal = 'too_large' | 'overload' | 'incomplete' | 'closing';

/** Why a body was not read to its end. */
export class BodyError extends Error {
  readonly refusal: BodyRefusal;
  constructor(refusal: BodyRefusal) {
    super(refusal);
    this.name = 'BodyError';
    this.refusal = refusal;
  }
}

export interface HeldBody {
  readonly body: Buffer;
  /** Gives its bytes back to the budget; to be called once the delivery is answered. */
  release(): void;
}

export interface BodyReader {
  read(request: IncomingMessage): Promise<HeldBody>;
  bytesHeld(): number;
  /** Gives up the bodies that are still on their way. */
  abandonAll(): void;
}

interface Reading {
  readonly startedAt: number;
  bytes(): number;
  abandon(refusal: BodyRefusal): void;
}

/** Memory that a delivery takes beside its body. */
const overheadBytes = 1024;

export const createBodyReader = (options: { maxBodyBytes: number; maxInflightBytes: number }): BodyReader => {
  const { maxBodyBytes, maxInflightBytes } = options;
  const readings = new Set<Reading>();
  let held = 0;

  /** Who holds most for longest goes first, so that slow or huge bodies do not crowd out the usual ones. */
  const costliest = (): Reading | undefined => {
    const now = performance.now();
    let found: Reading | undefined;
    let highest = -1;
    for (const reading of readings) {
      const cost = reading.bytes() * (now - reading.startedAt);
      if (cost <= highest) continue;
      found = reading;
      highest = cost;
    }
    return found;
  };

  return {
    bytesHeld: () => held,
    abandonAll() {
      for (const reading of readings) reading.abandon('closing');
    },
    read: (request) =>
      new Promise((resolve, reject) => {
        const announced = Number(request.headers['content-length']);
        if (announced > maxBodyBytes) {
          reject(new BodyError('too_large'));
          return;
        }
        if (request.destroyed) {
          reject(new BodyError('incomplete'));
          return;
        }
        const chunks: Buffer[] = [];
        let length = 0;
        let taken = overheadBytes;
        held += taken;
        const release = () => {
          held -= taken;
          taken = 0;
        };
        const settle = () => {
          readings.delete(reading);
          request.off('data', onData).off('end', onEnd).off('close', onCut);
        };
        const reading: Reading = {
          startedAt: performance.now(),
          bytes: () => taken,
          abandon(refusal) {
            settle();
            release();
            chunks.length = 0;
            request.pause();
            reject(new BodyError(refusal));
          },
        };
        const onData = (chunk: Buffer) => {
          length += chunk.length;
          taken += chunk.length;
          held += chunk.length;
          chunks.push(chunk);
          if (length > maxBodyBytes) {
            reading.abandon('too_large');
            return;
          }
          while (held > maxInflightBytes && readings.size > 0) costliest()?.abandon('overload');
        };
        const onEnd = () => {
          settle();
          const [only] = chunks;
          resolve({ body: chunks.length === 1 && only ? only : Buffer.concat(chunks, length), release });
        };
        const onCut = () => reading.abandon('incomplete');
        readings.add(reading);
        // Errors of the stream are followed by 'close'; without a listener they would be thrown.
        request
          .on('data', onData)
          .on('end', onEnd)
          .on('close', onCut)
          .on('error', () => {});
      }),
  };
};
