/** The kinds of warehouses, one line each; their settings are variants in `schemas/config/warehouses.ts`. */
import type { WarehouseConfig } from '../../schemas/config/warehouses.ts';
import { bigquery } from './bigquery/index.ts';
import type { WarehouseKind } from './kind.ts';
import { postgres } from './postgres/index.ts';

export const kinds = [postgres, bigquery];

/** The kind of some settings. */
export const kindOf = ({ type }: WarehouseConfig): WarehouseKind<WarehouseConfig> => {
  const found = kinds.find((kind) => kind.type === type);
  if (found === undefined) throw new Error(`no kind of warehouse ${type}`);
  return found as WarehouseKind<WarehouseConfig>;
};
