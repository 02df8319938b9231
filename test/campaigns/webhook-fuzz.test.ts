/** 100,000 mutated deliveries. About 2 minutes. */
import { describeFuzz } from '../webhook/fuzz-cases.ts';

describeFuzz({ count: 100_000 });
