/** The commands of the quickstart, one after the other; `npm run campaign -- docs` runs those of all pages. */
import { testCommands } from './command-cases.ts';

testCommands('quickstart');
