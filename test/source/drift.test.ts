import { describe, expect, test } from 'vitest';
import { countFields, createTally, findDrift, settledFields } from '../../src/source/list/drift.ts';
import { inheritedNames, withInheritedNames } from '../support/inherited-names.ts';

const tallyOf = (documents: readonly Record<string, unknown>[]) => {
  const tally = createTally();
  for (const document of documents) countFields(tally, document);
  return tally;
};
const many = (document: Record<string, unknown>): Record<string, unknown>[] =>
  Array.from({ length: 30 }, () => document);

describe('drift', () => {
  test('is nothing for records as the interface shows them', () => {
    const tally = tallyOf(
      many({ unique_id: 'a', timestamp: 'x', duration: '5', visit: null, tags: [], in: { data: 'x' } }),
    );
    expect(findDrift({ source: 'webhook', tally, before: new Set(settledFields(tally)) })).toEqual([]);
  });

  test('is told of fields whose names every object inherits', () => {
    const tally = tallyOf(many({ unique_id: 'a', ...withInheritedNames(1) }));
    const findings = findDrift({ source: 'list', tally, before: new Set() });
    expect(findings.map(({ field, kind }) => [kind, field])).toEqual(
      [...inheritedNames].sort().map((name) => ['new', name]),
    );
  });

  test('names new, vanished, uncarried and oddly typed fields, without a value', () => {
    const tally = tallyOf(many({ unique_id: 'a', duration: 5, sentiment: 'secret', tags: 'none' }));
    const findings = findDrift({
      source: 'list',
      tally,
      before: new Set(['unique_id', 'campaign']),
      uncarried: { visit: 7 },
    });
    expect(findings).toEqual([
      { source: 'list', field: 'campaign', kind: 'vanished', detail: 'carried before, absent now', seen: 30 },
      { source: 'list', field: 'duration', kind: 'type', detail: 'number instead of string', seen: 30 },
      {
        source: 'list',
        field: 'sentiment',
        kind: 'new',
        detail: 'a field the interface does not show, as string',
        seen: 30,
      },
      { source: 'list', field: 'tags', kind: 'type', detail: 'string instead of array or null', seen: 30 },
      {
        source: 'list',
        field: 'visit',
        kind: 'uncarried',
        detail: 'null or empty, while source.list.authoritative_fields does not name it',
        seen: 7,
      },
    ]);
  });
});
