/** docs/config.md: the reference of all keys, as tables. */
import { allowedText, findVariants, inline, isSection } from './describe-node.ts';
import { alternatives, configJsonSchema, type SchemaNode } from './schema-node.ts';

interface Row {
  readonly path: string;
  readonly node: SchemaNode;
  readonly required: boolean;
}

/** Renders `docs/config.md`: a table of keys for each section. */
export const renderConfigReference = (): string => {
  const parts = [
    '# Configuration',
    'Made from the schema by `npm run generate`. The same keys with their defaults as a file: `callsync.example.yaml`; for\neditors: `docs/callsync.schema.json`.',
    'callsync reads `--config FILE`, else the file that `CALLSYNC_CONFIG` names, else `./callsync.yaml`. The environment\noverrides it: `CALLSYNC_` and the path of the key in upper case, joined by two underscores\n(`CALLSYNC_SOURCE__LIST__PRESET=activate`, `CALLSYNC_WEBHOOK__SECRETS__0__SECRET_FILE=/run/secrets/signing`). Text is\ntaken as it is; numbers, lists and whole sections are YAML or JSON. It overrides the preset that\n`source.list.preset` names. An unknown key is refused.',
    'A key `x_file` names a file that holds the value of `x`. Secrets belong in such files or in the environment.\nDurations are a number with its unit: `ms`, `s`, `m`, `h`, `d`.',
  ];
  for (const [name, node] of Object.entries(configJsonSchema().properties ?? {})) {
    parts.push(`## ${name}`, node.description ?? '', renderTable(rowsBelow(name, node)));
  }
  return `${parts.join('\n\n')}\n`;
};

const rowsBelow = (path: string, node: SchemaNode): Row[] => {
  const variants = findVariants(node);
  if (variants !== undefined) {
    return [...variants.variants].flatMap(([name, variant]) => rowsBelow(`${path} (${name})`, variant));
  }
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

/** Of text in a table; what looks like HTML is none. */
const escapeCell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
