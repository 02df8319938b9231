import { CommanderError } from 'commander';
import { exitCodes } from './exit-codes.ts';
import { createProgram, findAskedCommand } from './program.ts';
import { reportFailure } from './report-failure.ts';
import { say } from './say.ts';

/** Runs what a command line asks for, without the names of program and script; leaves the exit code in the process. */
export const runProgram = async (words: readonly string[]): Promise<void> => {
  try {
    const asked = findAskedCommand(words);
    const program = await createProgram((name) => name === asked);
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.code === 'commander.unknownOption') await explainDash(words);
      process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    } else process.exitCode = reportFailure(error, words.includes('--json'));
  }
};

/** What a person searches for or asks may begin with a dash, such as an excluded word or a comment of SQL. */
const explainDash = async (words: readonly string[]): Promise<void> => {
  const asked = findAskedCommand(words);
  const program = await createProgram((name) => name === asked);
  const command = program.commands.find((candidate) => candidate.name() === asked);
  if (command?.registeredArguments.length !== 1) return;
  say(`(an argument that begins with a dash comes last, after --: callsync ${asked} -- '-…')`);
};
