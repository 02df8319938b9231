/** 100 kills of the receiver under load. About 5 minutes. */
import { describeKills } from '../webhook/kill-cases.ts';

describeKills({ kills: 100 });
