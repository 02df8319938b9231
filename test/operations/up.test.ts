/** The view of operators on one running installation. */
import { afterAll, beforeAll, describe } from 'vitest';
import { testFaults } from './faults-cases.ts';
import { testMonitoring } from './monitoring-cases.ts';
import { openSite, type Site } from './support/site.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site?.dispose());

testMonitoring(() => site);
describe('named within a minute, and cleared within one:', () => testFaults(() => site));
