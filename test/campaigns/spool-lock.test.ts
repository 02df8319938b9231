/** Two spools on one folder: frozen, in another PID namespace, started at once; 100 times each. About 15 minutes. */
import { describeSpoolLock } from '../webhook/spool-lock-cases.ts';

describeSpoolLock({ runs: 100, atOnce: 4 });
