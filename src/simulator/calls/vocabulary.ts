/** Invented content: fixed words, and telephone numbers of the ranges that are reserved for fiction. */
import { readFileSync } from 'node:fs';
import { readYaml } from '../../lib/read-yaml.ts';

const file = 'vocabulary.yaml';
const vocabulary = readYaml(readFileSync(new URL(file, import.meta.url), 'utf8'), file) as Record<
  'words' | 'tags',
  string
>;

export const words = vocabulary.words.split(' ');

export const campaigns: readonly string[] = Array.from({ length: 12 }, (_, i) => `campaign-${i + 1}`);
export const agents: readonly string[] = Array.from(
  { length: 40 },
  (_, i) => `agent-${String(i + 1).padStart(3, '0')}`,
);
export const depts: readonly string[] = ['SALES', 'SUPPORT', 'BILLING', 'RETENTION'];
export const otherStatuses: readonly string[] = ['unqualified', 'error'];

type TagKind = { readonly unique_id: string; readonly display_name: string; readonly type: 'bool' | 'number' | 'text' };

/** Mostly bool, as in the interface; a tolerant reader must survive the others. */
export const tagKinds: readonly TagKind[] = vocabulary.tags.split(', ').map((display_name, i) => ({
  unique_id: `7a6f0000-0000-4000-8000-${String(i + 1).padStart(12, '0')}`,
  display_name,
  type: i === 22 ? 'number' : i === 23 ? 'text' : 'bool',
}));

/** A French number from a range kept for fiction (01 99 00 xx xx, 06 39 98 xx xx), without plus sign. */
export const phoneNumber = (random: number): string => {
  const last = Math.floor(random * 20_000);
  return `${last < 10_000 ? '3319900' : '3363998'}${String(last % 10_000).padStart(4, '0')}`;
};
