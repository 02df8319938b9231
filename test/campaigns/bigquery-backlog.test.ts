/** A new call beside 500,000 pending ones over 2 years, in the local BigQuery. About 3 minutes. */
import { describeBacklog } from '../store/backlog-cases.ts';

describeBacklog({ pending: 500_000, perCommit: 2_000 });
