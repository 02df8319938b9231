import { describeFuzz } from './fuzz-cases.ts';

describeFuzz({ count: 800 });
