/** Knowledge of a perfect client about every call, to compare a warehouse with. */
import type { CallDocument } from '../../../schemas/call.ts';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { listDocument } from '../service/record-bytes.ts';
import type { WebhookSender } from '../service/webhook-sender.ts';
import type { World } from './world.ts';

export type TruthEntry = ReturnType<typeof truthAt>;

export interface TruthQuery {
  /** Without documents: fast, for counting. */
  readonly light?: boolean;
  /** Expected calls, from the list and from webhooks. */
  readonly knowable?: boolean;
}

type TruthParts = { readonly world: World; readonly settings: SimulatorSettings; readonly sender: WebhookSender };

/** The document a client would hold with the list at one version and the last acknowledged webhook at another. */
const knowableDocument = (
  { world, settings }: TruthParts,
  index: number,
  listed: number | null,
  delivered: number | null,
): CallDocument => ({
  ...(delivered !== null && world.documentOf(index, delivered)),
  ...(listed !== null && listDocument(world, settings, index, listed)),
});

const isoOf = (ms: number): string => new Date(ms).toISOString();

/** The truth about the call at an index. */
export const truthAt = (parts: TruthParts, index: number, light: boolean) => {
  const { world, settings, sender } = parts;
  const now = world.now();
  const place = world.placeOf(index);
  const deletedAt = world.deletedAt(index);
  const delivered = sender.delivered.get(index) ?? null;
  const visible = settings.staticPages || world.isListed(index, now);
  const version = world.versionOf(index);
  const everListed = visible || (deletedAt !== undefined && place.qualified <= deletedAt);
  const document =
    light || (!everListed && delivered === null)
      ? null
      : knowableDocument(parts, index, everListed ? version : null, delivered);
  return {
    callId: world.idOf(index),
    /**
     * Fields of the list come from the current version. Other fields come from the last version whose webhook got a
     * 2XX, or stay absent or as listed. Null for a call that is neither listed nor delivered.
     */
    document,
    version,
    /** Since when it has this version. */
    versionedAt: isoOf(world.versionedAt(index, version)),
    timestamp: isoOf(place.timestamp),
    qualified: isoOf(place.qualified),
    status: place.status,
    visibleInList: visible,
    deletedAt: deletedAt === undefined ? null : isoOf(deletedAt),
    /** Whether any version was answered 2XX, and which was the last. */
    deliveredByWebhook: delivered !== null,
    deliveredVersion: delivered,
  };
};

/** The truth of all calls in index order, lazily. */
export async function* truthOf(parts: TruthParts, { light = false, knowable = false }: TruthQuery) {
  const { world, settings, sender } = parts;
  world.advance();
  const now = world.now();
  for (let index = 0; index < world.count; index++) {
    const shown = settings.staticPages || world.isListed(index, now) || sender.delivered.has(index);
    if (shown || !knowable) yield truthAt(parts, index, light);
  }
}

/**
 * The document a client would hold if the given version were the present one; to tell stale from mismatched.
 * @param delivered version of the last webhook taken instead of the last acknowledged one: a delivery that failed
 *   may have been stored all the same
 */
export const documentAt = (parts: TruthParts, index: number, version: number, delivered?: number): CallDocument => {
  const acknowledged = parts.sender.delivered.get(index);
  const known = delivered ?? (acknowledged === undefined ? null : Math.min(acknowledged, version));
  return knowableDocument(parts, index, version, known);
};
