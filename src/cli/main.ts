#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { reportFailure } from './command.ts';
import { commands } from './commands.ts';
import { exitCodeHelp, exitCodes } from './exit-codes.ts';
import { addHelp } from './help.ts';
import { keepHeapSmall } from './memory.ts';
import { exitOnSignals } from './signals.ts';
import { readVersion } from './version.ts';

keepHeapSmall();
exitOnSignals();

const program = new Command('callsync')
  .description(
    'Brings the call records of a call-data service into Postgres and BigQuery: completely, once, and proves it.',
  )
  .version(readVersion())
  .showHelpAfterError('(see --help)')
  .addHelpText('after', `\n${exitCodeHelp}`)
  .exitOverride();
for (const add of commands) add(program);
addHelp(program);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage;
  else process.exitCode = reportFailure(error, process.argv.includes('--json'));
}
// Timers and sockets of libraries must not keep a finished command alive.
process.exit(process.exitCode ?? 0);
