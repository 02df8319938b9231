/** Output through pipes. */
import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { program, startProgram } from '../support/program.ts';

const run = promisify(execFile);

/** Of `callsync sql` in a pipe to a reader; a pipe takes 64 KB. */
const pipeTo = async (reader: string): Promise<string> =>
  (await run('bash', ['-c', `'${process.execPath}' '${program}' sql | ${reader}; echo "ended with \${PIPESTATUS[0]}"`]))
    .stdout;

test('output waits for a reader that is slower than the command', async () => {
  const whole = execFileSync(process.execPath, [program, 'sql'], { encoding: 'utf8', maxBuffer: 1_000_000 });
  expect(whole.length).toBeGreaterThan(100_000);
  expect(await pipeTo('while IFS= read -r line; do printf \'%s\\n\' "$line"; done')).toBe(`${whole}ended with 0\n`);
});

test('a reader that goes away is no fault', async () => expect(await pipeTo('true')).toBe('ended with 0\n'));

test('a program that fails before its first result is heard', async () =>
  await expect(startProgram(['up', '--config', '/no/such.yaml', '--json']).first()).rejects.toThrow(
    /up failed: .*CONFIG/,
  ));
