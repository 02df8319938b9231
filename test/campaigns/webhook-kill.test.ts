import { describeKills } from '../webhook/kill-cases.ts';

describeKills({ kills: 100 });
