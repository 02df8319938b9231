/** Indexing in the background, after loads: they do not wait for it, and do not fail with it. */
import type pg from 'pg';
import { CallsyncError, terminal } from '../../errors.ts';
import { runQuery } from '../../postgres/database.ts';
import { isLocked } from '../../postgres/errors.ts';
import { catchUp, type SearchOptions } from './search-catch-up.ts';
import { currentSql } from './search-ddl.ts';

export interface SearchIndexer {
  /** Indexes what is pending, if there is an index, one step after the other; tries again where the database failed. */
  wake(): void;
  /** Waits for the step that is under way. What is left is indexed after the next load, or by who searches. */
  stop(): Promise<void>;
}

export interface IndexerOptions extends SearchOptions {
  /** Whose connections loads leave: asked whether there is an index, so that none is opened for that. */
  readonly loads: pg.Pool;
  /** Told when indexing begins to fail, or fails in another way. */
  readonly warn?: ((error: unknown) => void) | undefined;
}

/** After what may succeed later: nobody may load for long. */
const retryMs = 2_000;

export const createSearchIndexer = (options: IndexerOptions): SearchIndexer => {
  const { loads, purpose, layout, warn } = options;
  const stopping = new AbortController();
  let wanted = false;
  let running: Promise<void> | undefined;
  let told: string | undefined;
  let again: NodeJS.Timeout | undefined;

  const isThere = async (): Promise<boolean> =>
    (await runQuery<{ current: boolean }>(loads, purpose, currentSql(layout)))[0]?.current === true;
  const index = async (): Promise<CallsyncError | undefined> => {
    if (!(await isThere())) return undefined;
    const { failed, fault } = await catchUp(options, { stop: stopping.signal }).catch(async (error: unknown) => {
      // Nothing is left to index where the index was dropped meanwhile.
      if (await isThere()) throw error;
      return { failed: [], fault: undefined };
    });
    if (failed.length === 0) return undefined;
    return terminal('SEARCH_DOCUMENT', `${failed.length} calls of the ${purpose} cannot be indexed for search.`, {
      hint: 'Searches find all other calls; table transcript_search_pending names these. Look what the server logs about them.',
      cause: fault,
    });
  };
  const tell = (error: unknown): void => {
    if (isLocked(error) || stopping.signal.aborted) return;
    const code = codeOf(error);
    if (code !== undefined && code !== told) warn?.(error);
    told = code;
  };
  const run = async (): Promise<void> => {
    while (wanted && !stopping.signal.aborted) {
      wanted = false;
      await index().then(tell, (error: unknown) => {
        tell(error);
        again ??= setTimeout(wakeAgain, retryMs).unref();
      });
    }
    running = undefined;
  };

  const wake = (): void => {
    wanted = true;
    if (!stopping.signal.aborted) running ??= run();
  };
  const wakeAgain = (): void => {
    again = undefined;
    wake();
  };

  return {
    wake,
    async stop() {
      stopping.abort();
      clearTimeout(again);
      await running;
    },
  };
};

const codeOf = (error: unknown): string | undefined => {
  if (error === undefined) return undefined;
  return error instanceof CallsyncError ? error.code : 'UNEXPECTED';
};
