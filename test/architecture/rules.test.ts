/** Every room of architecture/rooms.json has its rule broken in a tree of its own, and one run of the linter sees all. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { useFolder } from '../support/folder.ts';
import { modules, root } from '../support/repository.ts';

type Room = { readonly room: string } & Partial<Record<'imports' | 'types' | 'packages', readonly string[]>>;

const rules: {
  rooms: readonly Room[];
  roomOf: (path: string) => Room | undefined;
  names: (list: readonly string[], room: string) => boolean;
} = await import(join(root, 'architecture/import-rules.js'));
const { rooms, roomOf, names: allows } = rules;

/** A file of a room that no product file is: the room itself where the room is a file. */
const fileIn = (room: string, name: string): string => (room.endsWith('.ts') ? room : `${room}/${name}`);
const specifier = (from: string, to: string): string => {
  const path = relative(dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
};

/** Imports that break a room's rule: the first forbidden room, the first room allowed as types only, a package. */
const violationsOf = ({ room, imports = [], types = [], packages = [] }: Room) => {
  // A room that is a file can hold one violation only: it is put where the folder's would be.
  const path = fileIn(room, 'zz-broken.ts');
  const foreign = rooms.find((other) => other.room !== room && !allows([...imports, ...types], other.room))?.room;
  const typed = rooms.find((other) => allows(types, other.room) && !allows(imports, other.room))?.room;
  const lines = [
    ['a test', `import '${specifier(path, 'test/support/gate.ts')}';`, `${room} does not import test/support/gate.ts.`],
  ];
  if (foreign !== undefined) {
    const target = specifier(path, fileIn(foreign, 'zz.ts'));
    lines.push(
      [foreign, `export * from '${target}';`, `${room} does not import ${foreign}.`],
      [`${foreign} when it runs`, `export const a = () => import('${target}');`, `${room} does not import ${foreign}.`],
    );
  }
  if (typed !== undefined) {
    const target = specifier(path, fileIn(typed, 'zz.ts'));
    lines.push([`a value of ${typed}`, `import { zz } from '${target}';`, `${room} imports ${typed} as types only.`]);
  }
  if (!packages.includes('*')) {
    const name = packages.includes('node') ? 'left-pad' : 'node:fs';
    lines.push([name, `import '${name}';`, `${room} does not use the package ${name === 'node:fs' ? 'node' : name}.`]);
  }
  return lines.map(([what, text = '', says = '']) => ({ rule: `${room} imports ${what}`, path, text, says }));
};

const cycles: readonly { rule: string; files: Readonly<Record<string, string>> }[] = [
  {
    rule: 'a cycle over three files',
    files: {
      'src/calls/zz-a.ts': "import { b } from './zz-b.ts';\nexport const a = () => b;\n",
      'src/calls/zz-b.ts': "import { c } from './zz-c.ts';\nexport const b = () => c;\n",
      'src/calls/zz-c.ts': "import { a } from './zz-a.ts';\nexport const c = () => a;\n",
    },
  },
  {
    rule: 'a cycle of types',
    files: {
      'src/postgres/zz-a.ts': "import type { B } from './zz-b.ts';\nexport type A = B | 1;\n",
      'src/postgres/zz-b.ts': "import type { A } from './zz-a.ts';\nexport type B = A[];\n",
    },
  },
];

const violations = rooms.flatMap(violationsOf);
const byPath = new Map(violations.map(({ path }) => [path, violations.filter((one) => one.path === path)] as const));

const write = (folder: string, files: Readonly<Record<string, string>>): void => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
};

const broken = useFolder('architecture');
let output: string;

beforeAll(() => {
  for (const entry of ['architecture', 'architecture.oxlintrc.json'])
    cpSync(join(root, entry), join(broken, entry), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(broken, 'node_modules'));
  for (const [path, found] of byPath) write(broken, { [path]: `${found.map(({ text }) => text).join('\n')}\n` });
  for (const { files } of cycles) write(broken, files);
  write(broken, {
    'src/zz-no-room/zz.ts': 'export const a = 1;\n',
    'workflows/zz-types.ts': "import type { run } from '../activities/zz.ts';\nexport type A = typeof run;\n",
    'src/webhook/server/zz-types.ts': "import { type A } from '../../store/delivery/zz.ts';\nexport type B = A;\n",
  });
  const options = ['-c', 'architecture.oxlintrc.json', '--format', 'unix'];
  output = spawnSync(join(root, 'node_modules/.bin/oxlint'), options, { cwd: broken, encoding: 'utf8' }).stdout;
});

/** The linter's finding about the line of a file. */
const said = (path: string, line: number) => output.split('\n').filter((text) => text.startsWith(`${path}:${line}:`));
test.each(violations)('the rooms are broken when $rule', ({ path, text, says }) => {
  const line = (byPath.get(path)?.findIndex((other) => other.text === text) ?? 0) + 1;
  expect(said(path, line)).toEqual([expect.stringContaining(says)]);
});

test.each(cycles)('the rooms are broken by $rule', ({ files }) => {
  const [first = ''] = Object.keys(files);
  expect(said(first, 1)).toEqual([expect.stringContaining('cycle')]);
});

test('the rooms are broken by a file in no room', () => {
  expect(said('src/zz-no-room/zz.ts', 1)).toEqual([expect.stringContaining('is in no room')]);
});

test('the rooms let types pass where only types may', () => expect(output).not.toContain('zz-types.ts'));

test('the rooms name only rooms that exist, each once, and none imports in a circle', () => {
  const inhabited = new Set([...modules.keys()].map((path) => roomOf(path)?.room));
  expect([...inhabited].sort()).toEqual(rooms.map(({ room }) => room).sort());
  for (const { imports = [], types = [] } of rooms) {
    expect([...imports, ...types].filter((entry) => !rooms.some(({ room }) => allows([entry], room)))).toEqual([]);
  }
  const reaches = (from: Room, seen = new Set<string>()): Set<string> => {
    for (const next of rooms) {
      if (!allows(from.imports ?? [], next.room) || seen.has(next.room)) continue;
      seen.add(next.room);
      reaches(next, seen);
    }
    return seen;
  };
  // Within source, simulator and webhook the parts may know each other; no-cycle guards their files.
  const family = (room: string): string =>
    room === 'src/simulator/demo' ? 'src/cli' : (room.match(/^src\/(source|simulator|webhook)/)?.[0] ?? room);
  for (const room of rooms) {
    const back = [...reaches(room)].filter((other) => {
      const target = rooms.find((candidate) => candidate.room === other);
      return target !== undefined && family(other) !== family(room.room) && reaches(target).has(room.room);
    });
    expect(back, room.room).toEqual([]);
  }
});
