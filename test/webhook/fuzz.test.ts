import { describeFuzz } from './fuzz-cases.ts';

describeFuzz({ count: 3_000 });
