/** Pages with all keys: callsync.example.yaml, and docs/reference/config.md. */
import { stringify } from 'yaml';
import { alternatives, configJsonSchema, type SchemaNode } from '../src/config/schema-node.ts';

const width = 118;
/** Values for keys that must be given and have no default. */
const sampleValues: Readonly<Record<string, unknown>> = { base_url: 'https://api.example.com', project: 'my-project' };

interface Spot {
  readonly indent: string;
  /** Whether an enclosing section is switched off. */
  readonly off: boolean;
}

/**
 * Renders `callsync.example.yaml`, with every key, its description and its default. All keys but the required ones are
 * off (`#key:` without a space), so that a copy keeps no default of today.
 */
export const renderConfigExample = (): string => {
  const head = [
    '# yaml-language-server: $schema=docs/callsync.schema.json',
    '#',
    '# Every key of callsync with its meaning and its default; made from the schema by `npm run generate`.',
    '# Copy it to callsync.yaml, and switch on what you change: remove the # before the key and before its sections. Only',
    '# source.base_url has no default. Every key can also be set by environment: CALLSYNC_ and its path in upper case, joined',
    '# by two underscores, such as CALLSYNC_SOURCE__LIST__PRESET=activate; lists and sections as YAML or JSON.',
    '# A key that ends in _file names a file that holds the value; secrets belong there or in the environment.',
  ];
  const sections = Object.entries(configJsonSchema().properties ?? {});
  const body = sections.flatMap(([key, node]) => [
    '',
    ...renderKey(key, node, { indent: '', off: false }, key === 'source'),
  ]);
  return `${[...head, ...body].join('\n')}\n`;
};

const renderKey = (key: string, node: SchemaNode, spot: Spot, required: boolean): string[] => {
  const comment = renderComment(key, node, spot.indent);
  const off = spot.off || !required;
  const inner = { indent: `${spot.indent}  `, off };
  const line = (text: string) => `${spot.indent}${off ? '#' : ''}${text}`;
  const variants = findVariants(node);
  if (variants !== undefined) return [...comment, line(`${key}:`), ...renderVariants(node, variants, inner)];
  if (isSection(node)) return [...comment, line(`${key}:`), ...renderProperties(node, inner)];
  const entry = typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
  const named = entry === undefined ? undefined : findVariants(entry);
  if (named !== undefined) return [...comment, line(`${key}:`), ...renderNamed(node, named, inner)];
  if (entry !== undefined && isSection(entry)) {
    const below = { indent: `${inner.indent}  `, off: true };
    return [...comment, `${spot.indent}#${key}:`, `${inner.indent}#UDF_key:`, ...renderProperties(entry, below)];
  }
  if (node.items !== undefined && alternatives(node.items).some(isSection))
    return [...comment, `${spot.indent}#${key}:`, ...renderListEntry(node.items, { ...inner, off: true })];
  const value = node.default ?? (required ? sampleValues[key] : undefined);
  return [...comment, line(value === undefined ? `${key}:` : `${key}: ${inline(value)}`)];
};

const renderProperties = (node: SchemaNode, spot: Spot, skip?: string): string[] =>
  Object.entries(node.properties ?? {})
    .filter(([key]) => key !== skip)
    .flatMap(([key, child]) => renderKey(key, child, spot, node.required?.includes(key) ?? false));

type Variants = NonNullable<ReturnType<typeof findVariants>>;

/** The variant of the default, then the others switched off. */
const renderVariants = (node: SchemaNode, { tag, variants }: Variants, spot: Spot): string[] => {
  const chosen = String((node.default as Record<string, unknown> | undefined)?.[tag] ?? [...variants.keys()][0]);
  return [chosen, ...[...variants.keys()].filter((name) => name !== chosen)].flatMap((name) => {
    const inner = { ...spot, off: spot.off || name !== chosen };
    return [
      ...(name === chosen ? [] : [`${spot.indent}# Or:`]),
      `${spot.indent}${inner.off ? '#' : ''}${tag}: ${name}`,
      ...renderProperties(variants.get(name) as SchemaNode, inner, tag),
    ];
  });
};

/** Entries under names of the user's choice: those of the default, and the other variants switched off. */
const renderNamed = (node: SchemaNode, { tag, variants }: Variants, spot: Spot): string[] => {
  const present = Object.entries((node.default ?? {}) as Record<string, Record<string, unknown>>);
  const chosen = new Set(present.map(([, entry]) => String(entry[tag])));
  const others = [...variants.keys()].filter((name) => !chosen.has(name));
  const entries: [string, string, boolean][] = [
    ...present.map(([name, entry]): [string, string, boolean] => [name, String(entry[tag]), spot.off]),
    ...others.map((name): [string, string, boolean] => [name, name, true]),
  ];
  return entries.flatMap(([name, variant, off]) => {
    const inner = { indent: `${spot.indent}  `, off };
    return [
      `${spot.indent}${off ? '#' : ''}${name}:`,
      `${inner.indent}${off ? '#' : ''}${tag}: ${variant}`,
      ...renderProperties(variants.get(variant) as SchemaNode, inner, tag),
    ];
  });
};

/** One switched-off entry of a list of sections, with its variants: its first key carries the dash. */
const renderListEntry = (items: SchemaNode, { indent }: Spot): string[] => {
  const below = { indent: `${indent}  `, off: true };
  const variants = findVariants(items);
  const lines = variants === undefined ? renderProperties(items, below) : renderVariants(items, variants, below);
  const first = lines.findIndex((line) => /^ *#[a-z]/.test(line));
  return lines.map((line, index) => {
    if (index === first) return `${indent}#- ${line.trimStart().slice(1)}`;
    return index < first ? line.slice(2) : line;
  });
};

const renderComment = (key: string, node: SchemaNode, indent: string): string[] => {
  const text = node.description ?? '';
  const choice = node.enum === undefined || key === 'type' ? '' : ` One of: ${allowedText(node)}.`;
  const lines: string[] = [];
  let line = '';
  for (const word of `${text}${choice}`.split(' ').filter(Boolean)) {
    if (line !== '' && indent.length + line.length + word.length + 3 > width) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  if (line !== '') lines.push(line);
  return lines.map((each) => `${indent}# ${each}`);
};

type Row = { readonly path: string; readonly node: SchemaNode; readonly required: boolean };

/** Renders `docs/reference/config.md`: a table of keys for each section. */
export const renderConfigReference = (): string => {
  const parts = [
    '# Configuration',
    'Generated by `npm run generate` from the schema. `callsync.example.yaml` has the same keys with their defaults, and\n`docs/callsync.schema.json` the schema for editors.',
    'callsync reads `--config FILE`, else the file in `CALLSYNC_CONFIG`, else `./callsync.yaml`. callsync refuses unknown keys. The\nenvironment overrides the file: `CALLSYNC_` and the path of the key in upper case, joined by two underscores\n(`CALLSYNC_SOURCE__LIST__PRESET=activate`, `CALLSYNC_WEBHOOK__SECRETS__0__SECRET_FILE=/run/secrets/signing`). Write numbers,\nlists and whole sections as YAML or JSON. The file overrides the preset in `source.list.preset`.',
    'A key `x_file` names a file with the value of `x`. Keep secrets in such files or in the environment. Durations are a number\nwith its unit: `ms`, `s`, `m`, `h`, `d`. *The interface* is the documentation that the service gives its customers.',
  ];
  for (const [name, node] of Object.entries(configJsonSchema().properties ?? {}))
    parts.push(`## ${name}`, node.description ?? '', renderTable(rowsBelow(name, node)));
  return `${parts.join('\n\n')}\n`;
};

const rowsBelow = (path: string, node: SchemaNode): Row[] => {
  const variants = findVariants(node);
  if (variants !== undefined)
    return [...variants.variants].flatMap(([name, variant]) => rowsBelow(`${path} (${name})`, variant));
  const rows = Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const here = { path: `${path}.${key}`, node: child, required: node.required?.includes(key) ?? false };
    return [...(isSection(child) ? [] : [here]), ...rowsBelow(here.path, child)];
  });
  const entry = typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
  if (entry !== undefined && alternatives(entry).some(isSection)) rows.push(...rowsBelow(`${path}.NAME`, entry));
  if (node.items !== undefined && alternatives(node.items).some(isSection))
    rows.push(...rowsBelow(`${path}[]`, node.items));
  return rows;
};

const renderTable = (rows: readonly Row[]): string => {
  const lines = rows.map(({ path, node, required }) => {
    const allowed = findVariants(node) === undefined ? allowedText(node) : 'keys of one variant, below';
    const standard = node.default === undefined ? (required ? '**required**' : '') : `\`${inline(node.default)}\``;
    return `| ${[`\`${path}\``, allowed, standard, node.description ?? ''].map(escapeCell).join(' | ')} |`;
  });
  return ['| Key | Allowed | Default | Meaning |', '|---|---|---|---|', ...lines].join('\n');
};

/** Escapes text for a table cell, so that it is not read as HTML. */
const escapeCell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

/** The property that tells the variants of a union apart (`style`, `type`), with the variants by its value. */
const findVariants = (node: SchemaNode): { tag: string; variants: Map<string, SchemaNode> } | undefined => {
  const all = alternatives(node);
  if (all.length < 2) return undefined;
  const first = Object.entries(all[0]?.properties ?? {}).find(([, property]) => property.const !== undefined);
  if (first === undefined) return undefined;
  const [tag] = first;
  return { tag, variants: new Map(all.map((each) => [String(each.properties?.[tag]?.const), each])) };
};

/** Whether the node is a section: its keys are listed one by one. */
const isSection = (node: SchemaNode): boolean => node.properties !== undefined;

const allowedText = (node: SchemaNode): string => {
  const all = alternatives(node);
  if (all.length > 1) return all.map(allowedText).join(' or ');
  if (node.const !== undefined) return inline(node.const);
  if (node.enum !== undefined) return node.enum.map(inline).join(', ');
  if (node.type === 'array') return `list of ${plural(node.items ?? {})}`;
  if (node.type === 'object') return isSection(node) ? 'keys' : 'map of names to text';
  if (node.type === 'boolean') return 'true, false';
  if (node.type === 'integer' || node.type === 'number')
    return `${node.type === 'integer' ? 'whole number' : 'number'}${range(node)}`;
  if (node.pattern?.includes('(ms|s|m|h|d)')) return 'duration';
  return node.format === 'uri' ? 'address' : 'text';
};

const inline = (value: unknown): string =>
  stringify(value, { collectionStyle: 'flow', lineWidth: 0, flowCollectionPadding: false }).trim();

const plural = (node: SchemaNode): string =>
  alternatives(node).every(isSection) ? 'entries with keys' : allowedText(node).replace(/^(whole )?number/, '$&s');

const range = (node: SchemaNode): string => {
  const safe = (bound: number | undefined) =>
    bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;
  const [least, above, most] = [safe(node.minimum), safe(node.exclusiveMinimum), safe(node.maximum)];
  if (least !== undefined && most !== undefined) return `, ${least} to ${most}`;
  if (least !== undefined) return `, at least ${least}`;
  if (above !== undefined) return `, above ${above}${most === undefined ? '' : ` up to ${most}`}`;
  return most === undefined ? '' : `, at most ${most}`;
};
