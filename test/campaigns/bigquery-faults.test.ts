/** Lost responses, conflicts and kills in BigQuery loads, against a strict stand-in. About 5 minutes. */
import { describeConflicts, describeKills, describeLostResponses } from '../warehouse/bigquery/fault-cases.ts';

describeLostResponses({ lost: 200 });
describeConflicts({ inARow: 30 });
describeKills({ rounds: 10 });
