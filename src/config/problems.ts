/** Turns zod issues into sentences that name the key and what is allowed, without repeating a value. */
import type { z } from 'zod';
import { alternatives, childrenAt, configJsonSchema, knownKeys, type SchemaNode } from './schema-node.ts';
import { suggest } from './suggest.ts';

export const describeIssues = (issues: readonly z.core.$ZodIssue[]): string[] => {
  return [...new Set(issues.flatMap((issue) => describeIssue(issue, [])))];
};

const describeIssue = (issue: z.core.$ZodIssue, above: readonly PropertyKey[]): string[] => {
  const path = [...above, ...issue.path];
  const key = showPath(path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((unknown) => describeUnknown(unknown, path));
    case 'invalid_type':
      return [
        issue.input === undefined
          ? `${key} is required${hint(path)}`
          : `${key} must be ${article(issue.expected)}${hint(path)}`,
      ];
    case 'invalid_value':
      return [`${key} must be ${oneOf(issue.values)}`];
    case 'too_small':
      return [
        `${key} must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unit(issue.origin)}`,
      ];
    case 'too_big':
      return [
        `${key} must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unit(issue.origin)}`,
      ];
    case 'invalid_union':
      return describeUnion(issue, path, key);
    case 'invalid_key':
      return [`${key}: this name is not allowed; ${issue.issues.map(({ message }) => message).join(', ')}`];
    case 'invalid_format':
      if (issue.format === 'url') return [`${key} must be an address such as https://api.example.com`];
      return [
        issue.message.startsWith('Invalid')
          ? `${key} does not have the form that is allowed${hint(path)}`
          : `${key} ${issue.message}`,
      ];
    default:
      return [`${key} ${issue.message}`];
  }
};

const describeUnion = (issue: z.core.$ZodIssueInvalidUnion, path: readonly PropertyKey[], key: string): string[] => {
  if (issue.discriminator !== undefined) {
    const variants = nodesAt(path.slice(0, -1)).flatMap(alternatives);
    const allowed = variants.map((node) => node.properties?.[issue.discriminator as string]?.const).filter(Boolean);
    return [`${key} must be ${oneOf(allowed)}`];
  }
  const parts = issue.errors.map((errors) => errors.flatMap((error) => describeIssue(error, path)));
  return [parts.map((texts) => texts.join(' and ')).join(', or ') || `${key} is not valid`];
};

const describeUnknown = (unknown: string, path: readonly PropertyKey[]): string => {
  const known = knownKeys(nodesAt(path)) ?? [];
  const meant = suggest(unknown, known);
  const key = showPath([...path, unknown]);
  if (meant !== undefined) return `${key} is not a key (did you mean ${meant}?)`;
  return `${key} is not a key; allowed there: ${known.join(', ')}`;
};

const nodesAt = (path: readonly PropertyKey[]): SchemaNode[] => {
  let nodes: SchemaNode[] = [configJsonSchema()];
  for (const key of path) nodes = nodes.flatMap((node) => childrenAt(node, String(key)));
  return nodes;
};

/** The meaning of the key, as the reference has it. */
const hint = (path: readonly PropertyKey[]): string => {
  const text = nodesAt(path).find((node) => node.description !== undefined)?.description;
  return text === undefined ? '' : ` (${text.replace(/\.$/, '')})`;
};

const showPath = (path: readonly PropertyKey[]): string => {
  if (path.length === 0) return 'the configuration';
  return path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${String(key)}`))
    .join('');
};

const article = (name: string) =>
  ({ object: 'a section with keys', array: 'a list', int: 'a whole number' })[name] ?? `a ${name}`;
const oneOf = (values: readonly unknown[]) => `${values.length > 1 ? 'one of ' : ''}${values.map(String).join(', ')}`;
const unit = (origin: string) => ({ string: ' characters', array: ' entries' })[origin] ?? '';
