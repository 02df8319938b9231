/** Every rule of architecture.oxlintrc.json is broken once, in a copy of the folders, and must be the one that speaks. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const config = 'architecture.oxlintrc.json';
let copy: string;

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'callsync-architecture-'));
  for (const entry of ['schemas', 'src', 'workflows', 'activities', config]) {
    cpSync(join(root, entry), join(copy, entry), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

const lint = (folder: string): { code: number | null; output: string } => {
  const program = join(root, 'node_modules/.bin/oxlint');
  const { status, stdout } = spawnSync(program, ['-c', config], { cwd: folder, encoding: 'utf8' });
  return { code: status, output: stdout };
};

/** Adds files, runs the linter, removes them again. */
const lintWith = (files: Readonly<Record<string, string>>): { code: number | null; output: string } => {
  const before = new Map(Object.keys(files).map((name) => [join(copy, name), readIfThere(join(copy, name))]));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(copy, name)), { recursive: true });
      writeFileSync(join(copy, name), text);
    }
    return lint(copy);
  } finally {
    for (const [path, text] of before) {
      if (text === undefined) rmSync(path, { force: true });
      else writeFileSync(path, text);
    }
  }
};

const readIfThere = (path: string): string | undefined => {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
};

const violations: readonly { rule: string; files: Record<string, string>; says: string }[] = [
  {
    rule: 'schemas import src',
    files: { 'schemas/zz.ts': "import type { ErrorKind } from '../src/errors.ts';\nexport type A = ErrorKind;\n" },
    says: 'schemas import nothing else of ours',
  },
  {
    rule: 'a workflow imports the value of an activity',
    files: {
      'activities/zz-activity.ts': 'export const run = 1;\n',
      'workflows/zz.ts': "import { run } from '../activities/zz-activity.ts';\nexport const a = run;\n",
    },
    says: 'as types only',
  },
  {
    rule: 'a workflow exports an activity on',
    files: {
      'activities/zz-activity.ts': 'export const run = 1;\n',
      'workflows/zz.ts': "export * from '../activities/zz-activity.ts';\n",
    },
    says: 'as types only',
  },
  {
    rule: 'a workflow imports node:fs',
    files: { 'workflows/zz.ts': "import { readFileSync } from 'node:fs';\nexport const a = readFileSync;\n" },
    says: 'no built-in modules',
  },
  {
    rule: 'a workflow imports zod through schemas',
    files: {
      'workflows/zz.ts': "import { callRecordSchema } from '../schemas/call.ts';\nexport const a = callRecordSchema;\n",
    },
    says: 'as types only',
  },
  {
    rule: 'the shapes that workflows share bring in zod',
    files: { 'schemas/orchestration.ts': "import { z } from 'zod';\nexport const a = z.string();\n" },
    says: 'nothing heavy in it',
  },
  {
    rule: 'src/source imports src/warehouse',
    files: {
      'src/source/zz.ts': "import type { Warehouse } from '../warehouse/warehouse.ts';\nexport type A = Warehouse;\n",
    },
    says: 'do not import each other',
  },
  {
    rule: 'src/webhook imports a value of src/store',
    files: {
      'src/store/zz-store.ts': 'export const open = 1;\n',
      'src/webhook/zz.ts': "import { open } from '../store/zz-store.ts';\nexport const a = open;\n",
    },
    says: 'as types only',
  },
  {
    rule: 'src imports activities',
    files: {
      'activities/zz-activity.ts': 'export const run = 1;\n',
      'src/store/zz.ts': "import { run } from '../../activities/zz-activity.ts';\nexport const a = run;\n",
    },
    says: 'src knows nothing of activities',
  },
  {
    rule: 'src imports the command line',
    files: {
      'src/cli/zz-command.ts': 'export const run = 1;\n',
      'src/config/zz.ts': "import { run } from '../cli/zz-command.ts';\nexport const a = run;\n",
    },
    says: 'Nothing but src/cli imports the command line',
  },
  {
    rule: 'activities import workflows',
    files: {
      'workflows/zz-workflow.ts': 'export const run = 1;\n',
      'activities/zz.ts': "import { run } from '../workflows/zz-workflow.ts';\nexport const a = run;\n",
    },
    says: 'Activities do not know the workflows',
  },
  {
    rule: 'the product imports a test',
    files: {
      'test/zz-test.ts': 'export const run = 1;\n',
      'src/calls/zz.ts': "import { run } from '../../test/zz-test.ts';\nexport const a = run;\n",
    },
    says: 'Nothing outside test/ and bench/',
  },
  {
    rule: 'a cycle over three files',
    files: {
      'src/calls/zz-a.ts': "import { b } from './zz-b.ts';\nexport const a = () => b;\n",
      'src/calls/zz-b.ts': "import { c } from './zz-c.ts';\nexport const b = () => c;\n",
      'src/calls/zz-c.ts': "import { a } from './zz-a.ts';\nexport const c = () => a;\n",
    },
    says: 'no-cycle',
  },
  {
    rule: 'a cycle of types',
    files: {
      'src/calls/zz-a.ts': "import type { B } from './zz-b.ts';\nexport type A = B | 1;\n",
      'src/calls/zz-b.ts': "import type { A } from './zz-a.ts';\nexport type B = A[];\n",
    },
    says: 'no-cycle',
  },
];

describe('architecture', () => {
  test('holds in the tree as it is', () => {
    expect(lint(root)).toEqual({ code: 0, output: expect.stringContaining('0 errors') });
  });

  test.each(violations)('is broken when $rule', ({ files, says }) => {
    const { code, output } = lintWith(files);
    expect(output).toContain(says);
    expect(code).toBe(1);
  });

  test('lets workflows and the receiver take types', () => {
    const { code, output } = lintWith({
      'activities/zz-activity.ts': 'export const run = 1;\n',
      'src/store/zz-store.ts': 'export interface Store { readonly a: 1 }\n',
      'workflows/zz.ts': "import type { run } from '../activities/zz-activity.ts';\nexport type A = typeof run;\n",
      'src/webhook/zz.ts': "import type { Store } from '../store/zz-store.ts';\nexport type A = Store;\n",
    });
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('0 errors') });
  });
});
