#!/usr/bin/env node
import { CommanderError } from 'commander';
import { exitCodes } from './exit-codes.ts';
import { keepHeapSmall } from './memory.ts';
import { createProgram, findAskedCommand } from './program.ts';
import { reportFailure } from './report-failure.ts';
import { exitOnSignals } from './signals.ts';

keepHeapSmall();
exitOnSignals();

try {
  const asked = findAskedCommand(process.argv.slice(2));
  const program = await createProgram((name) => name === asked);
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage;
  else process.exitCode = reportFailure(error, process.argv.includes('--json'));
}
// Timers and sockets of libraries must not keep a finished command alive.
process.exit(process.exitCode ?? 0);
