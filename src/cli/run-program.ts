import { CommanderError } from 'commander';
import { exitCodes } from './exit-codes.ts';
import { createProgram, findAskedCommand } from './program.ts';
import { reportFailure } from './report-failure.ts';

/** Runs what a command line asks for, without the names of program and script; leaves the exit code in the process. */
export const runProgram = async (words: readonly string[]): Promise<void> => {
  try {
    const asked = findAskedCommand(words);
    const program = await createProgram((name) => name === asked);
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    else process.exitCode = reportFailure(error, words.includes('--json'));
  }
};
