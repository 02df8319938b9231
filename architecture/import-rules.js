/** An oxlint plugin with one rule, made from the table of rooms.json: a file imports only what its room may import. */
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/** An entry whose room is `folder/*` or below it stands for one room a folder there; its lists may name the same folder so. */
const expand = (entry) => {
  const [place, rest] = entry.room.split('/*');
  if (rest === undefined) return [entry];
  return readdirSync(join(root, place), { withFileTypes: true })
    .filter((one) => one.isDirectory())
    .map(({ name }) => JSON.parse(JSON.stringify(entry).replaceAll(`${place}/*`, `${place}/${name}`)));
};

/** Every room of the product, in the order of the table. `imports`, `types` and `packages` may be left out. */
export const rooms = JSON.parse(readFileSync(join(root, 'architecture/rooms.json'), 'utf8')).flatMap(expand);

/** The room of a path below the root: the listed file or folder that is nearest to it. */
export const roomOf = (path) =>
  rooms
    .filter(({ room, flat }) => path === room || (path.startsWith(`${room}/`) && !(flat && dirname(path) !== room)))
    .sort((a, b) => b.room.length - a.room.length)[0];

/**
 * Whether a list of rooms names this one: by its name, as `folder/*` for all below the folder, as a name in which `*` stands for
 * one folder, or as `*`.
 */
export const names = (list, room) =>
  list.some((entry) => {
    if (entry === '*' || entry === room) return true;
    const [place, rest] = entry.split('/*');
    return rest !== undefined && room.startsWith(`${place}/`) && room.endsWith(rest);
  });

const packageOf = (specifier) => {
  if (isBuiltin(specifier)) return 'node';
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
};

/** What is wrong with one import, if anything. */
export const judgeImport = (path, specifier, typeOnly) => {
  const from = roomOf(path);
  if (from === undefined) return undefined;
  const { room, imports = [], types = [], packages = [] } = from;
  if (!specifier.startsWith('.')) {
    const name = packageOf(specifier);
    return typeOnly || names(packages, name) ? undefined : `${room} does not use the package ${name}.`;
  }
  const target = relative(root, resolve(root, dirname(path), specifier))
    .split(sep)
    .join('/');
  const to = roomOf(target)?.room;
  if (to === room || (to !== undefined && names(imports, to))) return undefined;
  if (to !== undefined && names(types, to)) {
    return typeOnly ? undefined : `${room} imports ${to} as types only.`;
  }
  return `${room} does not import ${to ?? target}.`;
};

const isTypeOnly = (node) =>
  node.importKind === 'type' ||
  node.exportKind === 'type' ||
  (node.specifiers?.length > 0 &&
    node.specifiers.every((part) => part.importKind === 'type' || part.exportKind === 'type'));

const create = (context) => {
  const path = relative(root, context.filename).split(sep).join('/');
  if (/^(src|schemas|workflows|activities)\//.test(path) && roomOf(path) === undefined) {
    return {
      Program: (node) => context.report({ node, message: `${path} is in no room of architecture/rooms.json.` }),
    };
  }
  const check = (node, source, typeOnly) => {
    if (typeof source?.value !== 'string') return;
    const problem = judgeImport(path, source.value, typeOnly);
    if (problem !== undefined) context.report({ node, message: `${problem} See architecture/rooms.json.` });
  };
  return {
    ImportDeclaration: (node) => check(node, node.source, isTypeOnly(node)),
    ExportNamedDeclaration: (node) => check(node, node.source, isTypeOnly(node)),
    ExportAllDeclaration: (node) => check(node, node.source, isTypeOnly(node)),
    ImportExpression: (node) => check(node, node.source, false),
    TSImportType: (node) => check(node, node.source ?? node.argument?.literal, true),
  };
};

export default { meta: { name: 'rooms' }, rules: { imports: { create } } };
