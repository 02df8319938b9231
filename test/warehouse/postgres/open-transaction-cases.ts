/** Workers that start one after the other while an analyst's transaction holds the view `words`. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openPostgres } from '../../support/open-postgres.ts';
import { connect } from '../../support/postgres.ts';
import { makeBatch, makeCall } from '../batches.ts';

/** @param options.seconds how long the transaction is open at least; it is, until all workers have started. */
export const describeOpenTransaction = ({ seconds }: { seconds: number }): void => {
  const title = `an open transaction on words${seconds === 0 ? '' : ` for ${seconds} s`} leaves a changed view to the next start, and delays neither loads nor starts`;
  test(title, async () => {
    const { database, admin, open, close } = await openPostgres({ schema: 'calls', documents: true });
    onTestFinished(close);
    const analyst = await connect(database.url);
    const viewText = async (): Promise<string> =>
      (await admin.query(`SELECT pg_get_viewdef('calls.words'::regclass) AS text`)).rows[0].text;

    await open().migrate();
    const wanted = await viewText();
    const loader = open();
    const loadOne = async (callId: string): Promise<number> => {
      const begin = performance.now();
      await loader.load(makeBatch({ calls: [makeCall({ callId })] }));
      return performance.now() - begin;
    };
    const undisturbed = await loadOne('first');
    await admin.query(`CREATE OR REPLACE VIEW calls.words AS SELECT * FROM (${wanted.replace(';', '')}) older;
      COMMENT ON VIEW calls.words IS 'older'; COMMENT ON TABLE calls.tags IS NULL; DROP INDEX calls.calls_call_timestamp`);
    await analyst.query('BEGIN; SELECT count(*) FROM calls.words');

    const loads: number[] = [];
    let started = false;
    const load = async (): Promise<void> => {
      for (let n = 0; !started || n < 5; n += 1) {
        loads.push(await loadOne(`c-${n}`));
        if (seconds > 0) await delay(100);
      }
    };
    const startAll = async (): Promise<void> => {
      const starts: Promise<void>[] = [];
      for (const warehouse of [open(), open(), open()]) {
        starts.push(warehouse.migrate());
        await delay((seconds / 3) * 1_000);
      }
      await Promise.all(starts);
      started = true;
    };
    await Promise.all([load(), startAll()]);
    expect(Math.max(...loads)).toBeLessThan(2_000 + 10 * undisturbed);
    expect(await viewText()).not.toBe(wanted);

    await analyst.query('COMMIT');
    await analyst.end();
    await open().migrate();
    expect(await viewText()).toBe(wanted);
    expect((await admin.query(`SELECT to_regclass('calls.calls_call_timestamp') AS name`)).rows[0].name).not.toBeNull();
    const comment = await admin.query(`SELECT obj_description('calls.tags'::regclass) AS text`);
    expect(comment.rows[0].text).toContain('One row per tag');
  });
};
