/**
 * The cost of every statement of a pool, told by the server itself (`auto_explain`): the statements are those that are
 * sent.
 */
import type pg from 'pg';
import { asAdmin, connect } from '../support/postgres.ts';

export interface StatementCost {
  readonly sql: string;
  /** Most of one execution, its triggers included. */
  readonly ms: number;
  /** Most pages of 8 KiB that one execution looked at; statements inside triggers are entries of their own. */
  readonly buffers: number;
  readonly rows: number;
  readonly times: number;
}

interface Plan {
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly 'Actual Rows'?: number;
}

/** New connections to the database tell the plan of each statement as a notice. */
export const explainStatements = async (url: string): Promise<void> => {
  const client = await connect(asAdmin(url));
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
    'auto_explain.log_parameter_max_length': '0',
  };
  const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name');
  await client.query("LOAD 'auto_explain'");
  for (const [name, value] of Object.entries(settings))
    await client.query(`ALTER DATABASE ${rows[0]?.name} SET ${name} = '${value}'`);
  await client.end();
};

/** Gathers what the pool's connections are told from now on. */
export const gatherCosts = (pool: pg.Pool): (() => readonly StatementCost[]) => {
  const costs = new Map<string, StatementCost>();
  const note = (message: string): void => {
    const found = /^duration: ([\d.]+) ms\s+plan:\n([\s\S]*)$/.exec(message);
    if (found === null) return;
    const explained = JSON.parse(found[2] ?? '') as { 'Query Text': string; Plan: Plan };
    const sql = explained['Query Text'].replaceAll(/\s+/g, ' ').trim();
    const plan = explained.Plan;
    const before = costs.get(sql);
    costs.set(sql, {
      sql,
      ms: Math.max(before?.ms ?? 0, Number(found[1])),
      buffers: Math.max(before?.buffers ?? 0, (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)),
      rows: Math.max(before?.rows ?? 0, plan['Actual Rows'] ?? 0),
      times: (before?.times ?? 0) + 1,
    });
  };
  // Not when they connect: the pool may have connections already, and give the work to none but those.
  const heard = new WeakSet<pg.PoolClient>();
  pool.on('acquire', (client) => {
    if (heard.has(client)) return;
    heard.add(client);
    client.on('notice', ({ message }) => note(message ?? ''));
  });
  return () => [...costs.values()].sort((a, b) => b.buffers - a.buffers);
};
