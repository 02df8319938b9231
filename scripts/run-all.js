/**
 * Runs all arguments at the same time: commands, or names of scripts in package.json. Prints the output of each at its
 * end, and fails when one fails.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));

const run = (name) =>
  new Promise((resolve) => {
    const started = Date.now();
    // Not by npm, whose start alone takes half a second of a processor.
    const child = spawn(scripts[name] ?? name, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = [];
    child.stdout.on('data', (chunk) => said.push(chunk));
    child.stderr.on('data', (chunk) => said.push(chunk));
    child.once('close', (code) => {
      const seconds = ((Date.now() - started) / 1000).toFixed(1);
      process.stdout.write(`> ${name} (${seconds} s)\n`);
      process.stdout.write(Buffer.concat(said));
      resolve(code === 0);
    });
  });

const passed = await Promise.all(process.argv.slice(2).map(run));
process.exitCode = passed.every(Boolean) ? 0 : 1;
