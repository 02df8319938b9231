/** The axis on which the ledger and the list can be compared. */
import type { ListConfig } from '../../../schemas/config/list.ts';
import { terminal } from '../../lib/errors.ts';
import { isCuttable } from '../../source/list/list-query.ts';
import type { LedgerAxis } from '../../store/ledger/read-ledger.ts';

/**
 * Prefers the call's own time, which edits do not move, to the end of processing. Prefers an axis by which the
 * service cuts.
 * Undefined if the list has neither, because the ledger knows no other time. A list without axes is read whole and
 * cut by the call's own time.
 * `axis` = its name in the list's configuration.
 * `column` = the ledger's column of the same time.
 * `cuttable` = the service cuts by it, so that a shorter window is a smaller answer.
 */
export const chooseAxis = (list: ListConfig, processedField: string) => {
  const column: LedgerAxis = 'call_timestamp';
  if (list.cursor_fields.length === 0) return { axis: 'timestamp', column, cuttable: false };
  for (const axes of [list.cursor_fields.filter(isCuttable), list.cursor_fields])
    for (const [field, column] of [
      ['timestamp', 'call_timestamp'],
      [processedField, 'processed_at'],
    ] as const) {
      const axis = axes.find(({ record_field }) => record_field === field);
      if (axis !== undefined) return { axis: axis.name, column, cuttable: isCuttable(axis) };
    }
  return undefined;
};

/** The same, where nothing can be done without one. @throws CallsyncError RECONCILE_AXIS */
export const requireAxis = (list: ListConfig, processedField: string) => {
  const chosen = chooseAxis(list, processedField);
  if (chosen !== undefined) return chosen;
  throw terminal('RECONCILE_AXIS', 'The list has no axis of the call’s own time or of the end of processing.');
};
