/**
 * `npm run release [-- STEP …]`: checks everything that a release needs, and writes package and bill of materials into
 * release/. The command publishes nothing. All steps take about two hours; without a step, all of them run.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(join(root, name), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };
const packed = `release/callsync-${version}.tgz`;
const maxBytes = 2_000_000;

/** Runs a line of shell; it must end with 0. */
const run = (line: string): void => {
  const { status } = spawnSync('bash', ['-o', 'pipefail', '-c', line], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error(`"${line}" ended with ${status}.`);
};
const campaign = (name: string) => (): void => run(`npm run campaign -- ${name}`);

const steps: Readonly<Record<string, () => void>> = {
  tree: () => run('test -z "$(git status --porcelain)" && git fetch --quiet && test -z "$(git log HEAD..@{upstream})"'),
  version: () => {
    if (
      !new RegExp(`^## ${version.replaceAll('.', '\\.')} \\(\\d{4}-\\d\\d-\\d\\d\\)$`, 'm').test(read('CHANGELOG.md'))
    )
      throw new Error(`CHANGELOG.md has no heading "## ${version} (date)".`);
    run(`! git rev-parse --quiet --verify refs/tags/v${version}`);
  },
  install: () => run('npm ci'),
  test: () => run('npm test'),
  nodes: campaign('nodes'),
  alerts: campaign('alerts'),
  installs: campaign('installs'),
  image: campaign('image'),
  package: () => {
    run('npm pack --silent --pack-destination release');
    const { size } = statSync(join(root, packed));
    if (size >= maxBytes) throw new Error(`${packed} has ${size} bytes; at most ${maxBytes} are allowed.`);
  },
  sbom: () =>
    run(
      `npx --yes @cyclonedx/cyclonedx-npm@6.0.1 --omit dev --flatten-components --output-file release/callsync-${version}.sbom.json`,
    ),
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => steps[name] === undefined);
if (unknown.length > 0) {
  process.stderr.write(`There is no step ${unknown.join(', ')}. The steps: ${Object.keys(steps).join(', ')}.\n`);
  process.exit(2);
}
mkdirSync(join(root, 'release'), { recursive: true });
for (const [name, step] of Object.entries(steps)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const begun = performance.now();
  try {
    step();
  } catch (error) {
    process.stderr.write(`Step ${name} failed: ${(error as Error).message}\n`);
    process.exit(1);
  }
  process.stdout.write(`Step ${name} passed in ${((performance.now() - begun) / 1000).toFixed(0)} s.\n`);
}
process.stdout.write(`Nothing was published. To publish: git tag v${version}; npm publish ${packed}\n`);
