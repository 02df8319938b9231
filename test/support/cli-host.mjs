// Runs commands of the built program one after another in one process, each as if it were the only one.
import { Readable } from 'node:stream';
import { runProgram } from '../../dist/src/cli/shell/program.js';

for (const name of ['stdout', 'stderr']) {
  process[name].write = (chunk, encoding, done = encoding) => {
    process.send({ [name]: Buffer.from(chunk).toString('base64') });
    if (typeof done === 'function') queueMicrotask(done);
    return true;
  };
}

process.on('message', async ({ words, input }) => {
  process.argv = [...process.argv.slice(0, 2), ...words];
  process.exitCode = undefined;
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input, 'base64')]), configurable: true });
  await runProgram(words);
  process.send({ code: process.exitCode ?? 0 });
});
