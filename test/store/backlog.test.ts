import { describeBacklog } from './backlog-cases.ts';

describeBacklog({ pending: 1_100, perCommit: 1, commits: 2 });
