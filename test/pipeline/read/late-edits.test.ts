import { describeLateEdits } from './late-edits-cases.ts';

describeLateEdits({ days: 45, callsPerDay: 2_000 });
