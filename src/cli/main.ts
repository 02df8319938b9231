#!/usr/bin/env node
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { boundMemory } from '../lib/bound-memory.ts';
import { allowReaderToLeave, endOutput, exitOnSignals } from './shell/output.ts';
import { runProgram } from './shell/program.ts';

allowReaderToLeave();
// A worker may wait for work for long.
boundMemory(process.argv[2] === 'worker');
exitOnSignals();
// Node gives up an address after 250 ms where a name has another one, and that one may lead nowhere.
setDefaultAutoSelectFamilyAttemptTimeout(2_500);
await runProgram(process.argv.slice(2));
await endOutput();
// Timers and sockets of libraries must not keep a finished command alive.
process.exit(process.exitCode ?? 0);
