/** After a restored ledger every commit looks for rows under unknown dates, until the last of them is replaced. */
import { expect, test } from 'vitest';
import { makeBatch, makeCall } from '../batches.ts';
import { bePatient } from '../patience.ts';
import { setUpStrict } from './strict-warehouse.ts';

bePatient();

test('the fence is cleared once no row of an earlier epoch is left', async () => {
  const clock = { now: Date.now() };
  const setup = await setUpStrict();
  const warehouse = setup.open({ clock: () => clock.now });
  const load = (callId: string, epoch: number) =>
    warehouse.load(makeBatch({ epoch, calls: [makeCall({ callId, revision: 1 })] }));
  const earlier = async () => (await warehouse.query('SELECT earlier_epochs AS e FROM fence'))[0]?.e;
  try {
    await warehouse.load(makeBatch({ calls: ['a', 'b'].map((callId) => makeCall({ callId })) }));
    expect(await load('a', 2)).toEqual({ changed: 1, unchanged: 0 });
    clock.now += 3_700_000;
    expect(await load('b', 2)).toEqual({ changed: 1, unchanged: 0 });
    expect(await earlier()).toBe(true);
    clock.now += 3_700_000;
    expect(await load('c', 2)).toEqual({ changed: 1, unchanged: 0 });
    expect(await earlier()).toBe(false);
    expect(await warehouse.countRows()).toMatchObject({ calls: 3 });
  } finally {
    await setup.dispose();
  }
});
