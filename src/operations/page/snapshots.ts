/**
 * The page as it was last drawn. However many clients ask, the state is read at most once in `everyMs`, and only while
 * somebody asks.
 */
import { drawPage } from './draw-page.ts';
import type { PageState } from './page-state.ts';
import { drawSections, type Section } from './sections.ts';

export interface Snapshot {
  readonly at: number;
  readonly page: string;
  readonly sections: readonly Section[];
}

export interface Snapshots {
  read(): Promise<Snapshot>;
}

export const createSnapshots = (
  readState: () => Promise<PageState>,
  { everyMs, formToken }: { readonly everyMs: number; readonly formToken: string | null },
): Snapshots => {
  let last: { readonly at: number; readonly snapshot: Promise<Snapshot> } | undefined;
  const draw = async (): Promise<Snapshot> => {
    const state = await readState();
    const sections = drawSections(state, formToken);
    return { at: state.at, sections, page: drawPage(state, sections) };
  };
  return {
    read: () => {
      if (last === undefined || performance.now() - last.at > everyMs) {
        const snapshot = draw();
        const mine = { at: performance.now(), snapshot };
        last = mine;
        // A failure is not kept: the next one who asks tries again.
        snapshot.catch(() => {
          if (last === mine) last = undefined;
        });
      }
      return last.snapshot;
    },
  };
};
