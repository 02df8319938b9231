import { describeKills } from './kill-cases.ts';

describeKills({ kills: 5 });
