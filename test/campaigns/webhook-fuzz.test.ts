import { describeFuzz } from '../webhook/fuzz-cases.ts';

describeFuzz({ count: 100_000 });
