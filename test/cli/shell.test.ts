/** Output through pipes. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { useFolder } from '../support/folder.ts';
import { program, startProgram } from '../support/program.ts';

const run = promisify(execFile);

/** Of `callsync config schema` in a pipe to a reader; a pipe takes 64 KB. */
const pipeTo = async (reader: string): Promise<string> => {
  const line = `'${process.execPath}' '${program}' config schema | ${reader}; echo "ended with \${PIPESTATUS[0]}"`;
  return (await run('bash', ['-c', line])).stdout;
};

test('output waits for a reader that is slower than the command', async () => {
  const { stdout: whole } = await run(process.execPath, [program, 'config', 'schema']);
  expect(whole.length).toBeGreaterThan(80_000);
  expect(await pipeTo('while IFS= read -r line; do printf \'%s\\n\' "$line"; done')).toBe(`${whole}ended with 0\n`);
});

test('a reader that goes away is no fault', async () => expect(await pipeTo('true')).toBe('ended with 0\n'));

const folder = useFolder('shell');

test('a command that waits for its stop stays without sockets, and may end for another reason', async () => {
  const waiting = async (ends: string) => {
    const entry = join(folder, 'waiting.mjs');
    const output = program.replace('main.js', 'shell/output.js');
    const text = `import { exitOnSignals, untilStopped } from ${JSON.stringify(output)};
      exitOnSignals();
      const { stopped } = untilStopped();
      setImmediate(() => console.log('{}'));
      console.log(JSON.stringify({ by: (await stopped(${ends})) ?? null }));`;
    await writeFile(entry, text);
    return startProgram([], { entry });
  };
  const stays = await waiting('');
  await stays.first();
  stays.child.kill('SIGTERM');
  expect([await stays.ended, stays.stdout()]).toEqual([0, '{}\n{"by":"SIGTERM"}\n']);
  const ends = await waiting('Promise.resolve()');
  expect(await ends.ended).toBe(0);
});

test('an address that is slow to connect is waited for, although its name has another one', async () => {
  const tell = `import net from 'node:net';
    process.on('exit', () => console.error(net.getDefaultAutoSelectFamilyAttemptTimeout()))`;
  const env = { ...process.env, NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(tell)}` };
  expect((await run(process.execPath, [program, '--version'], { env })).stderr).toBe('2500\n');
});
