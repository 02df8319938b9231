/** Late edits that a learned horizon catches beside a fixed one, in a year of 5,000 calls a day. About 2 minutes. */
import { describeLateEdits } from '../rereads/late-edits-cases.ts';

describeLateEdits({ days: 365, callsPerDay: 5_000 });
