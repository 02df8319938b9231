import { describeSpoolLock } from './spool-lock-cases.ts';

describeSpoolLock({ runs: 1, atOnce: 4 });
