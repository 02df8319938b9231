#!/usr/bin/env node
import { boundMemory } from '../lib/bound-memory.ts';
import { allowReaderToLeave, endOutput, exitOnSignals } from './shell/output.ts';
import { runProgram } from './shell/program.ts';

allowReaderToLeave();
// A worker may wait for work for long.
boundMemory(process.argv[2] === 'worker');
exitOnSignals();
await runProgram(process.argv.slice(2));
await endOutput();
// Timers and sockets of libraries must not keep a finished command alive.
process.exit(process.exitCode ?? 0);
