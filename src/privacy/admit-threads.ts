/**
 * The privacy rules on deliveries, on threads of their own: reading what was said takes several times as long as all else that a
 * receiver does with a delivery, and one thread would make every sender wait for it.
 */
import { availableParallelism } from 'node:os';
import { Tinypool } from 'tinypool';
import type { PrivacyConfig } from '../../schemas/config/privacy.ts';
import { terminal } from '../errors.ts';
import { findBuilt } from '../find-built.ts';
import { type AdmittedBytes, asBuffer, type ThreadData } from './admit-messages.ts';
import { type Admitted, createPrivacy, type PrivacyKeys } from './privacy.ts';

export interface AdmitThreads {
  /** As `Privacy.admit`. Rejects where a thread ended before it was done: nothing is stored then. */
  admit(body: Buffer): Promise<Admitted>;
  /** Ends the threads; nothing may be under way. */
  close(): Promise<void>;
}

/** Bytes of a body that is done before a thread has heard of it, where speech is read and where it is not. */
const smallBytes = { speech: 4_096, fields: 262_144 } as const;
/** More of them wait for the store. */
const mostThreads = 4;

/** Beside dist/ when running from sources. */
const locateThread = (): string => {
  const found = findBuilt(import.meta.url, './admit-thread.js', '../../dist/src/privacy/admit-thread.js');
  if (found === undefined)
    throw terminal('BUILD_MISSING', "The program of the receiver's threads does not exist.", {
      hint: 'Run npm run build.',
    });
  return found;
};

interface Waiting {
  readonly body: Buffer;
  resolve(admitted: Admitted): void;
  reject(error: unknown): void;
}

/** Bodies that one thread is given at once: a message costs as much as reading a short transcript. */
const mostAtOnce = 16;

/** @throws CallsyncError BUILD_MISSING, and as `createPrivacy`. */
export const openAdmitThreads = (config: PrivacyConfig, keys: PrivacyKeys): AdmitThreads => {
  const { admit, readsSpeech, version: privacyVersion } = createPrivacy(config, keys);
  const ownBytes = smallBytes[readsSpeech ? 'speech' : 'fields'];
  const threads = Math.min(mostThreads, availableParallelism());
  const pool = new Tinypool({
    filename: locateThread(),
    minThreads: threads,
    maxThreads: threads,
    workerData: { config, ...keys } satisfies ThreadData,
    // Neither secrets of the environment nor flags of the process concern them.
    env: {},
    execArgv: [],
  });
  const waiting: Waiting[] = [];
  let busy = 0;

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    busy += 1;
    try {
      const admitted: readonly AdmittedBytes[] = await pool.run(batch.map(({ body }) => body));
      for (const [index, { body, bodyHash }] of admitted.entries())
        batch[index]?.resolve({ body: asBuffer(body), bodyHash: asBuffer(bodyHash), privacyVersion });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    busy -= 1;
    sendWaiting();
  };

  const sendWaiting = (): void => {
    while (busy < threads && waiting.length > 0)
      void send(waiting.splice(0, Math.min(mostAtOnce, Math.ceil(waiting.length / (threads - busy)))));
  };

  return {
    async admit(body) {
      if (body.length < ownBytes) return admit(body);
      return await new Promise((resolve, reject) => {
        waiting.push({ body, resolve, reject });
        sendWaiting();
      });
    },
    close: () => pool.destroy(),
  };
};
