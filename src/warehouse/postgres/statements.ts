/** Every statement that this warehouse can send, for review. */

import { digestedNames } from '../digest.ts';
import type { Statement } from '../warehouse.ts';
import { countSql } from './counts.ts';
import { listChanges } from './ddl.ts';
import { digestCallsSql } from './digest-calls.ts';
import { callIdsSql, guardsSql, orphansSql } from './guards.ts';
import type { Layout } from './layout.ts';
import { loadSql } from './load-sql.ts';
import { rowsSql } from './read.ts';
import { claimSurplusSql, hasSearchSql, removeOrphansSql, removeSql, rowsLeftSql } from './remove.ts';
import { hitsSql, namedSql, newestSql, walkSql, wordsSql } from './search-find.ts';
import {
  addMissingSql,
  countSearchSql,
  countWaitingSql,
  createGinSql,
  createSearchSql,
  dropGinSql,
  dropSearchSql,
  fillSql,
  isFillableSql,
  nextCallsSql,
  searchStateSql,
} from './search-index.ts';
import { stateSql } from './state.ts';

export const listStatements = (layout: Layout): readonly Statement[] => {
  const load = loadSql(layout);
  return [
    ...listChanges(layout).map(({ name, sql }) => ({ name: `migrate: ${name}`, sql })),
    { name: 'load: stage', sql: load.stage },
    { name: 'load: claim', sql: load.claim },
    { name: 'load: claim, forced', sql: load.claimEqual },
    { name: 'load: blocked', sql: load.blocked },
    ...load.deleteChildren.map((sql) => ({ name: 'load: delete children', sql })),
    { name: 'load: add changes', sql: load.addChanges },
    { name: 'erase: take key', sql: load.takeKeys },
    { name: 'erase: tombstone', sql: load.tombstone },
    { name: 'erase: rename deliveries', sql: load.renameDeliveries },
    { name: 'load, erase: delete calls', sql: load.deleteCalls },
    { name: 'erase: delete changes', sql: load.deleteChanges },
    ...Object.entries(load.upsertLogs).map(([name, { upsert }]) => ({ name: `load: upsert ${name}`, sql: upsert })),
    { name: 'state: record', sql: stateSql(layout) },
    { name: 'count', sql: countSql(layout) },
    ...digestedNames(layout.documents).map((name) => ({ name: `read ${name}`, sql: rowsSql(layout, name) })),
    { name: 'guards by time', sql: guardsSql(layout, 'range') },
    { name: 'remove surplus: claim', sql: claimSurplusSql(layout) },
    ...removeSql(layout).map((sql) => ({ name: 'remove surplus', sql })),
    ...removeOrphansSql(layout).map((sql) => ({ name: 'remove orphans', sql })),
    { name: 'guards by id', sql: guardsSql(layout, 'ids') },
    { name: 'digests by id', sql: digestCallsSql(layout) },
    { name: 'erase: whether there is a search index', sql: hasSearchSql(layout) },
    { name: 'erase: rows that are left', sql: rowsLeftSql(layout, true) },
    { name: 'ids by time', sql: callIdsSql(layout, 'range') },
    { name: 'ids without a time', sql: callIdsSql(layout, 'undated') },
    { name: 'ids of orphans', sql: orphansSql(layout) },
    ...createSearchSql(layout, layout.schema).map((sql) => ({ name: 'search index: create', sql })),
    { name: 'search index: next calls', sql: nextCallsSql(layout) },
    { name: 'search index: rows of calls that have none', sql: addMissingSql(layout) },
    { name: 'search index: whether there is one', sql: isFillableSql(layout) },
    { name: 'search index: make documents', sql: fillSql(layout) },
    { name: 'search index: create, last', sql: createGinSql(layout) },
    { name: 'search index: drop what was not finished', sql: dropGinSql(layout) },
    ...dropSearchSql(layout).map((sql) => ({ name: 'search index: drop', sql })),
    { name: 'search index: state', sql: searchStateSql(layout) },
    { name: 'search index: calls', sql: countSearchSql(layout) },
    { name: 'search index: pending calls', sql: countWaitingSql(layout) },
    { name: 'search: words in each language', sql: wordsSql(layout) },
    { name: 'search: calls among the newest', sql: newestSql(layout) },
    { name: 'search: calls by a walk', sql: walkSql(layout) },
    { name: 'search: calls by the index', sql: namedSql(layout) },
    { name: 'search: utterances', sql: hitsSql(layout) },
  ];
};
