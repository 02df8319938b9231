import { CommanderError } from 'commander';
import { exitCodes } from './exit-codes.ts';
import { createProgram, findAskedCommand } from './program.ts';
import { reportFailure } from './report-failure.ts';

/** Runs what a command line asks for, without the names of program and script. Resolves to the exit code. */
export const runProgram = async (words: readonly string[]): Promise<number> => {
  try {
    const asked = findAskedCommand(words);
    const program = await createProgram((name) => name === asked);
    await program.parseAsync(words, { from: 'user' });
    return Number(process.exitCode ?? exitCodes.ok);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    return reportFailure(error, words.includes('--json'));
  }
};
