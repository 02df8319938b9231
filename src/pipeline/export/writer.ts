import type { LedgerRow } from '../../calls/fold.ts';

/** Takes calls one by one; memory holds what waits for the disk, and no more. */
export interface ExportWriter {
  write(row: LedgerRow): Promise<void>;
  /** Ends every file; returns rows by file name. */
  finish(): Promise<Readonly<Record<string, number>>>;
}
