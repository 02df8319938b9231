/** callsync.example.yaml: every key with its meaning; `#key:` without a space is a key that is switched off. */
import { allowedText, findVariants, inline, isSection } from './describe-node.ts';
import { alternatives, configJsonSchema, type SchemaNode } from './schema-node.ts';

const width = 118;
/** Values for keys that must be given and have no default. */
const sampleValues: Readonly<Record<string, unknown>> = { base_url: 'https://api.example.com', project: 'my-project' };

interface Spot {
  readonly indent: string;
  /** Inside something that is switched off. */
  readonly off: boolean;
}

/** Renders `callsync.example.yaml`: every key with its description and its default. */
export const renderConfigExample = (): string => {
  const head = [
    '# yaml-language-server: $schema=docs/callsync.schema.json',
    '#',
    '# Every key of callsync with its meaning and its default; made from the schema by `npm run generate`.',
    '# Copy to callsync.yaml and keep what differs: only source.base_url has no default. `#key:` (no space) is a key that',
    '# is switched off. Every key can also be set by environment: CALLSYNC_ and its path in upper case, joined by two',
    '# underscores, such as CALLSYNC_SOURCE__LIST__PRESET=activate; lists and sections as YAML or JSON.',
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
  const off = spot.off || (node.default === undefined && !required);
  const inner = { indent: `${spot.indent}  `, off };
  const line = (text: string) => `${spot.indent}${off ? '#' : ''}${text}`;
  const variants = findVariants(node);
  if (variants !== undefined) return [...comment, line(`${key}:`), ...renderVariants(node, variants, inner)];
  if (isSection(node)) return [...comment, line(`${key}:`), ...renderProperties(node, inner)];
  const entry = typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
  const named = entry === undefined ? undefined : findVariants(entry);
  if (named !== undefined) return [...comment, line(`${key}:`), ...renderNamed(node, named, inner)];
  if (node.items !== undefined && alternatives(node.items).some(isSection)) {
    return [...comment, `${spot.indent}#${key}:`, ...renderListEntry(node.items, { ...inner, off: true })];
  }
  const value = node.default ?? (required ? sampleValues[key] : undefined);
  return [...comment, line(value === undefined ? `${key}:` : `${key}: ${inline(value)}`)];
};

const renderProperties = (node: SchemaNode, spot: Spot, skip?: string): string[] => {
  return Object.entries(node.properties ?? {})
    .filter(([key]) => key !== skip)
    .flatMap(([key, child]) => renderKey(key, child, spot, node.required?.includes(key) ?? false));
};

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

/** One switched-off entry of a list of sections: its first key carries the dash. */
const renderListEntry = (items: SchemaNode, { indent }: Spot): string[] => {
  const lines = renderProperties(items, { indent: `${indent}  `, off: true });
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
