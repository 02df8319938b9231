/** An analyst's transaction holds `words` for 5 minutes while 3 workers start and loads go on. About 5 minutes. */
import { describeOpenTransaction } from '../warehouse/postgres/open-transaction-cases.ts';

describeOpenTransaction({ seconds: 300 });
