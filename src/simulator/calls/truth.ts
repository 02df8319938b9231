/** Knowledge of a perfect client about every call, to compare a warehouse with. */
import { hash } from 'node:crypto';
import type { CallDocument } from '../../../schemas/call.ts';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { listDocument } from '../service/record-bytes.ts';
import type { WebhookSender } from '../webhooks/webhook-sender.ts';
import type { World } from './world.ts';

export type TruthEntry = ReturnType<typeof truthAt>;

export interface TruthQuery {
  /** Without documents and hashes: fast, for counting. */
  readonly light?: boolean;
  /** Expected calls, from the list and from webhooks. */
  readonly knowable?: boolean;
}

const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, canonical(inner)]));
};

/** SHA-256, hex, over the document with its keys sorted. */
const hashDocument = (document: CallDocument): string => hash('sha256', JSON.stringify(canonical(document)));

type TruthParts = { readonly world: World; readonly settings: SimulatorSettings; readonly sender: WebhookSender };

/** The document a client would hold with the list at one version and the last acknowledged webhook at another. */
const knowableDocument = (
  { world, settings }: TruthParts,
  index: number,
  listed: number | null,
  delivered: number | null,
): CallDocument => {
  const fromWebhook = delivered === null ? {} : world.documentOf(index, delivered);
  if (listed === null) return fromWebhook;
  return { ...fromWebhook, ...listDocument(world, settings, index, listed) };
};

/**
 * `at` = time of the change, ISO 8601 on the simulated clock.
 * `hash` = hash of the document that a client would hold if this were the present version.
 * `sent` = sent by webhook at least once; the answer does not matter.
 */
const describeVersions = (parts: TruthParts, index: number, delivered: number | null, light: boolean) => {
  const { world, sender } = parts;
  const latest = world.versionOf(index);
  const hashed = !light && latest > 1;
  return Array.from({ length: latest }, (_, i) => {
    const version = i + 1;
    const known = delivered === null ? null : Math.min(delivered, version);
    return {
      version,
      at: new Date(world.versionedAt(index, version)).toISOString(),
      hash: hashed ? hashDocument(knowableDocument(parts, index, version, known)) : '',
      sent: sender.attempted.get(index)?.has(version) ?? false,
    };
  });
};

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
    hash: document === null ? null : hashDocument(document),
    version,
    /** All versions, oldest first; their hashes only for calls that have more than one. */
    versions: describeVersions(parts, index, delivered, light),
    timestamp: world.formatTimestamp(place.timestamp),
    qualified: world.formatTimestamp(place.qualified),
    status: place.status,
    visibleInList: visible,
    deletedAt: deletedAt === undefined ? null : new Date(deletedAt).toISOString(),
    /** Whether any version was answered 2XX, and which was the last. */
    deliveredByWebhook: delivered !== null,
    deliveredVersion: delivered,
  };
};

/** The truth of all calls in index order, lazily. */
export function* truthOf(parts: TruthParts, { light = false, knowable = false }: TruthQuery) {
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
