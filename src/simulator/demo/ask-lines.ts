/** How others ask the demo: printed once its data is loaded. */
import type { Warehouse } from '../../warehouse/warehouse.ts';

export interface Asked {
  readonly warehouse: Pick<Warehouse, 'name'>;
  readonly configFile: string;
  /** The command that opens the database of the warehouse, where there is one. */
  readonly psql: string | undefined;
}

/** @param staysUp only then do psql and searches find a database that answers */
export const askLines = ({ warehouse, configFile, psql }: Asked, staysUp: boolean): readonly string[] => {
  const lines = [
    'Ask in SQL: tables are in schema calls (docs/tables.md), marts in calls_marts (docs/marts.md; docs/cookbook.md answers questions with them).',
    `npx callsync query --config ${configFile} 'SELECT * FROM calls_marts.agent_daily LIMIT 5'`,
  ];
  if (!staysUp) return lines;
  if (psql !== undefined) {
    lines.push(
      `PGOPTIONS='-c search_path=calls_marts,calls' ${psql}`,
      'Search transcripts, once their index is made:',
      `npx callsync warehouse search-index create ${warehouse.name} --config ${configFile}`,
      `npx callsync search '"votre facture"' --config ${configFile}`,
    );
  }
  return [
    ...lines,
    'Other commands ask this demo with the same --config, or once its name is set: export, coverage, await, status.',
    `export CALLSYNC_CONFIG=${configFile}`,
  ];
};
