/** The one reader of YAML that people wrote. The library's own words repeat the line, which may hold a secret. */
import { isAlias, isNode, type Node, parseDocument, visit } from 'yaml';
import { terminal } from './errors.ts';

/** Advice for frequent mistakes. */
const hints: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'Indent with spaces: YAML does not allow tabs.',
  BAD_INDENT: 'Indent the keys of one section by the same number of spaces.',
  MISSING_CHAR: 'Close the quote or bracket that is open.',
  DUPLICATE_KEY: 'Write each key once.',
  ANCHOR: 'Put a text that begins with * or & in single quotes.',
  COLON: 'Write a colon after each key, and put a text with a comma in single quotes.',
  TAG_RESOLVE_FAILED: 'Put a text that begins with ! in single quotes.',
};

/**
 * The value of YAML or JSON. A warning of the library is a fault here: it would leave text out.
 * @param where begins the message
 * @throws terminal CONFIG_INVALID
 */
export const readYaml = (text: string, where: string): unknown => {
  const refuse = (code: string, line = 1) =>
    terminal('CONFIG_INVALID', `${where}, line ${line}: this is not valid YAML (${code}).`, {
      hint: hints[code] ?? 'Compare the line with callsync.example.yaml.',
    });
  const document = parseDocument(text);
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) throw refuse(fault.code, fault.linePos?.[0].line);
  // A secret may begin with the sign of an anchor or an alias, and be lost.
  const refuseNode = (code: string, { range }: Node) => refuse(code, text.slice(0, range?.[0]).split('\n').length);
  visit(document, {
    Node: (_, node) => {
      if (isAlias(node) || node.anchor) throw refuseNode('ANCHOR', node);
    },
    // In { secret: ab, cd } the rest of a text is such a key.
    Pair: (_, { key, value }) => {
      if (value === null && isNode(key)) throw refuseNode('COLON', key);
    },
  });
  return document.toJS();
};
