/** Findings of detectors, and names and versions of detectors. */
import type { PrivacyConfig } from '../../schemas/config/privacy.ts';

/** Raise it if a detector finds more or fewer values than before. */
export const detectorVersions = {
  iban: 5,
  account: 3,
  card: 4,
  nir: 3,
  phone: 4,
  email: 4,
  cvv: 3,
  birth: 2,
  expiry: 2,
  last4: 2,
} as const satisfies Readonly<Record<PrivacyConfig['disabled_detectors'][number], number>>;

/** Detectors with values that tokens join and that requests of persons may name. */
export const joinedDetectors = ['phone', 'email', 'iban', 'account', 'card', 'nir'] as const;
export type JoinedDetector = (typeof joinedDetectors)[number];

export type DetectorName = keyof typeof detectorVersions;

/** `unread`: an utterance that takes more steps to read than it may. `known`: a value that the record names. */
const versions = new Map<string, number>(Object.entries({ ...detectorVersions, unread: 1, known: 1 }));

/** The present version of a detector; null for a configured pattern, which the version of the rules tells. */
export const versionOf = (detector: string): number | null => versions.get(detector) ?? null;

/** Characters of one utterance, `[start, end)`. */
export type Span = { readonly utterance: number; readonly start: number; readonly end: number };

export interface Finding {
  /** A detector's name, or that of a configured pattern. */
  readonly detector: string;
  /** The same for the same number or address, however it was written or said. */
  readonly value: string;
  readonly spans: readonly Span[];
}
