import { describeBacklog } from './backlog-cases.ts';

describeBacklog({ pending: 3_000, perCommit: 100 });
