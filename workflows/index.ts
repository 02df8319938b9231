export { backfill } from './backfill.ts';
export { loadWarehouse } from './load-warehouse.ts';
export { mergeInbox } from './merge-inbox.ts';
export { reconcile } from './reconcile.ts';
export { rereadCalls } from './reread-calls.ts';
export { rereadLate } from './reread-late.ts';
export { sweep } from './sweep.ts';
export { syncRecent } from './sync-recent.ts';
