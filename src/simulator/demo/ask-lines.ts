/** How others ask the demo: printed once its data is loaded. */
import type { Warehouse } from '../../warehouse/warehouse.ts';

/** Three questions of analysts, in SQL that both warehouses understand. */
export const analystQueries: Readonly<Record<string, string>> = {
  'Calls, mean duration and words by status': `SELECT status, count(*) AS calls, round(avg(duration)) AS mean_duration, sum(word_count) AS words
FROM calls GROUP BY status ORDER BY calls DESC`,
  'How often each tag was found true': `SELECT display_name, count(DISTINCT call_id) AS calls, count(DISTINCT CASE WHEN value_bool THEN call_id END) AS found_true
FROM tags GROUP BY display_name ORDER BY calls DESC, display_name LIMIT 5`,
  'Share of speech per side in the ten longest calls': `SELECT u.call_id, u.side, sum(u.word_count) AS words, round(sum(u.duration)) AS spoken
FROM utterances u
JOIN (SELECT call_id FROM calls ORDER BY duration DESC, call_id LIMIT 10) longest ON longest.call_id = u.call_id
GROUP BY u.call_id, u.side ORDER BY words DESC, u.call_id, u.side`,
};

interface Asked {
  readonly warehouse: Pick<Warehouse, 'name'>;
  readonly configFile: string;
  /** The command that opens the database of the warehouse, where there is one. */
  readonly psql: string | undefined;
}

/** @param staysUp only then do psql and searches find a database that answers, and queries find the local BigQuery */
export const askLines = ({ warehouse, configFile, psql }: Asked, staysUp: boolean): readonly string[] => {
  if (!staysUp && psql === undefined)
    return ['The local BigQuery has ended. To ask it, start the demo without --exit.'];
  const lines = [
    'Ask in SQL. Tables are in schema calls (docs/reference/tables.md), marts in calls_marts (docs/reference/marts.md). Queries: docs/reference/cookbook.md',
    `npx callsync query --config ${configFile} 'SELECT * FROM calls_marts.agent_daily LIMIT 5'`,
  ];
  if (!staysUp) return lines;
  if (psql !== undefined)
    lines.push(
      `PGOPTIONS='-c search_path=calls_marts,calls' ${psql}`,
      'Create the index, then search transcripts:',
      `npx callsync warehouse search-index create ${warehouse.name} --config ${configFile}`,
      `npx callsync search '"votre facture"' --config ${configFile}`,
    );
  return [
    ...lines,
    'Other commands (export, coverage, await, status) need the same --config, or this variable:',
    `export CALLSYNC_CONFIG=${configFile}`,
  ];
};
