#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { allowReaderToLeave, endOutput, exitOnSignals } from './shell/output.ts';
import { runProgram } from './shell/program.ts';

allowReaderToLeave();
// By default V8 lets the old space grow for long, but a reader's pages are garbage within a second. A worker that
// holds 60 MB would reach 500.
// Here V8 collects when twice of the used memory has been added, bytes of bodies included. A smaller limit costs too
// much: each collection marks the whole heap. With 50 deliveries a second, a worker would spend a third of its
// processor time on it.
setFlagsFromString('--heap-growing-percent=200');
exitOnSignals();
await runProgram(process.argv.slice(2));
await endOutput();
// Timers and sockets of libraries must not keep a finished command alive.
process.exit(process.exitCode ?? 0);
