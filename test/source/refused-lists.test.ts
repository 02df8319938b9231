/** Some lists that refuse pages. For 500 others: `npm run campaign -- lists refusals`. */
import { testRefusedLists } from './refused-lists-cases.ts';

// The last ones were once lost.
testRefusedLists([...Array.from({ length: 40 }, (_, index) => index), 20_577, 71_352]);
