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
import { claimSurplusSql, removeOrphansSql, removeSql } from './remove.ts';
import { indexTakenSql, prepareStepSql, takePendingSql } from './search-catch-up.ts';
import {
  countPendingSql,
  countSearchSql,
  createGinSql,
  createSearchSql,
  currentSql,
  dropGinSql,
  dropSearchSql,
  lockCallsSql,
  nextCallsSql,
  notePendingSql,
  searchStateSql,
} from './search-ddl.ts';
import { findSql, hitsSql, languageQueriesSql, sampleSql } from './search-query.ts';
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
    { name: 'ids by time', sql: callIdsSql(layout, 'range') },
    { name: 'ids without a time', sql: callIdsSql(layout, 'undated') },
    { name: 'ids of orphans', sql: orphansSql(layout) },
    ...createSearchSql(layout, layout.schema).map((sql) => ({ name: 'search index: create', sql })),
    { name: 'search index: next calls', sql: nextCallsSql(layout) },
    { name: 'search index: lock calls', sql: lockCallsSql(layout) },
    { name: 'search index: note pending calls', sql: notePendingSql(layout) },
    { name: 'search index: prepare a step', sql: prepareStepSql },
    { name: 'search index: take pending calls', sql: takePendingSql(layout, 'order') },
    { name: 'search index: take one of them', sql: takePendingSql(layout, 'ids') },
    ...indexTakenSql(layout).map((sql) => ({ name: 'search index: index pending calls', sql })),
    { name: 'search index: create, last', sql: createGinSql(layout) },
    { name: 'search index: drop what was not finished', sql: dropGinSql(layout) },
    ...dropSearchSql(layout).map((sql) => ({ name: 'search index: drop', sql })),
    { name: 'search index: state', sql: searchStateSql(layout) },
    { name: 'search index: whether there is one', sql: currentSql(layout) },
    { name: 'search index: calls', sql: countSearchSql(layout) },
    { name: 'search index: pending calls', sql: countPendingSql(layout) },
    { name: 'search: languages', sql: languageQueriesSql(layout) },
    { name: 'search: calls among the newest', sql: findSql(layout, 'newest') },
    { name: 'search: how frequent', sql: sampleSql(layout) },
    { name: 'search: calls by a walk', sql: findSql(layout, 'walked') },
    { name: 'search: calls by the index', sql: findSql(layout, 'named') },
    { name: 'search: utterances', sql: hitsSql(layout) },
  ];
};
