import { describeSpoolLock } from '../webhook/spool-lock-cases.ts';

describeSpoolLock({ runs: 100, atOnce: 4 });
