import { describeFuzz } from './fuzz-cases.ts';

describeFuzz({ count: 1_500 });
