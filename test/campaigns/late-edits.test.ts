import { describeLateEdits } from '../rereads/late-edits-cases.ts';

describeLateEdits({ days: 365, callsPerDay: 5_000 });
