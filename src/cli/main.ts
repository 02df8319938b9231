#!/usr/bin/env node
import { allowReaderToLeave, endOutput } from './shell/output.ts';
import { runProgram } from './shell/program.ts';
import { exitOnSignals, limitHeapGrowth } from './shell/signals.ts';

allowReaderToLeave();
limitHeapGrowth();
exitOnSignals();
await runProgram(process.argv.slice(2));
await endOutput();
// Timers and sockets of libraries must not keep a finished command alive.
process.exit(process.exitCode ?? 0);
