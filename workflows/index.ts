export { backfill } from './backfill.ts';
export { erase } from './erase.ts';
export { loadWarehouse } from './load-warehouse.ts';
export { mergeInbox } from './merge-inbox.ts';
export { reconcile } from './reconcile.ts';
export { rereadCalls, rereadLate } from './reread-calls.ts';
export { sweep } from './sweep.ts';
export { syncRecent } from './sync-recent.ts';
