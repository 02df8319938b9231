import { describe, expect, test } from 'vitest';
import { createTally, windowFindings } from '../../src/store/status/drift.ts';
import { inheritedNames, withInheritedNames } from '../support/inherited-names.ts';

const tallyOf = (source: string, documents: readonly Record<string, unknown>[]) => {
  const tally = createTally(source);
  for (const document of documents) tally.count(document);
  return tally;
};
const many = (document: Record<string, unknown>): Record<string, unknown>[] =>
  Array.from({ length: 30 }, () => document);

describe('drift', () => {
  test('is nothing for records as the interface shows them', () => {
    const tally = tallyOf(
      'webhook',
      many({ unique_id: 'a', timestamp: 'x', duration: '5', visit: null, tags: [], in: { data: 'x' } }),
    );
    expect(tally.findings(new Set(tally.settled()))).toEqual([]);
  });

  test('is told of fields whose names every object inherits', () => {
    const findings = tallyOf('list', many({ unique_id: 'a', ...withInheritedNames(1) })).findings(new Set());
    expect(findings.map(({ field, kind }) => [kind, field])).toEqual(
      [...inheritedNames].sort().map((name) => ['new', name]),
    );
  });

  test('names new, vanished, uncarried and oddly typed fields, without a value', () => {
    const tally = tallyOf('list', many({ unique_id: 'a', duration: 5, sentiment: 'secret', tags: 'none' }));
    expect([
      ...tally.findings(new Set(['unique_id', 'campaign'])),
      ...windowFindings('list', { uncarried: { visit: 7 }, repeated: 0 }),
    ]).toEqual([
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
