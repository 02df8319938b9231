/** A first configuration file: keys that differ from the defaults, each under its description. */
import { Document, isPair, isScalar, type Pair, visit } from 'yaml';
import { nodesAt } from './schema-node.ts';

const keyOf = ({ key }: Pair): string => (isScalar(key) ? String(key.value) : '');

/** @param values as they are to be in the file, from plain JSON */
export const renderStarter = (values: object): string => {
  const document = new Document(values);
  document.commentBefore =
    ' Written by callsync init. All keys: callsync config example; check it with callsync config check.';
  visit(document, {
    Seq: (_, list) => {
      list.flow = true;
      return visit.SKIP;
    },
    Pair: (index, pair, above) => {
      const path = [...above.filter(isPair), pair].map(keyOf);
      const description = nodesAt(path).find((node) => node.description !== undefined)?.description;
      if (!isScalar(pair.key)) return;
      pair.key.spaceBefore = path.length === 1 && index !== 0;
      if (description !== undefined) pair.key.commentBefore = ` ${description}`;
    },
  });
  return document.toString({ lineWidth: 0 });
};
