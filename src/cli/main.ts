#!/usr/bin/env node
import { limitHeapGrowth } from './memory.ts';
import { allowReaderToLeave, endOutput } from './output.ts';
import { runProgram } from './run-program.ts';
import { exitOnSignals } from './signals.ts';

allowReaderToLeave();
limitHeapGrowth();
exitOnSignals();
await runProgram(process.argv.slice(2));
await endOutput();
// Timers and sockets of libraries must not keep a finished command alive.
process.exit(process.exitCode ?? 0);
