/** An independent reading of design.md's order: the value that each field must end with. */
import { hash } from 'node:crypto';
import type { CallDocument } from '../../schemas/call.ts';
import { type Observation, sourceRank } from '../../schemas/observation.ts';

const clean = (name: string): string => name.replaceAll('\0', '\ufffd');

const later = (a: Observation, b: Observation, name: string): number => {
  if (a.observedAt !== b.observedAt) return a.observedAt - b.observedAt;
  if (a.source !== b.source) return sourceRank[a.source] - sourceRank[b.source];
  const [x, y] = [a, b].map((one) => hash('sha256', JSON.stringify(one.fields[name]), 'base64').slice(0, 22));
  return (x as string) < (y as string) ? -1 : x === y ? 0 : 1;
};

export const expectedDocument = (observations: readonly Observation[]): CallDocument => {
  const names = new Set(observations.flatMap((observation) => Object.keys(observation.fields)));
  return Object.fromEntries(
    [...names].map((name) => {
      const carrying = observations.filter((observation) => Object.hasOwn(observation.fields, name));
      const winner = carrying.reduce((best, one) => (later(one, best, name) > 0 ? one : best));
      return [clean(name), winner.fields[name]];
    }),
  );
};
