/** What a probe found that cannot all be true at once: the user has to ask the service which of it holds. */
import { valueAt } from '../json/json-path.ts';
import type { Finding } from './finding.ts';
import type { Look } from './session.ts';

/**
 * @param base the first look, without parameters.
 * @param list what was found so far, as it goes under `source.list`.
 * @param reachable records that can be reached, where that could be counted.
 */
export const findContradictions = (
  base: Look,
  list: Readonly<Record<string, unknown>>,
  reachable: number | undefined,
): Finding[] => {
  const between = (keys: string, evidence: string): Finding => ({
    key: 'contradiction',
    found: `between ${keys}`,
    confidence: 'sure',
    evidence,
  });
  const total = totalOf(base, list);
  const style = valueAt(list, 'pagination.style');
  const findings: Finding[] = [];
  if (style === 'none' && total !== undefined && total > base.records.length) {
    findings.push(
      between(
        'pagination.style and the total',
        `the total says ${total}, one response holds ${base.records.length}, and no way to the rest was found`,
      ),
    );
  }
  // Calls may have come since the total was read, or be of the last minute: a tenth may differ.
  if (total !== undefined && reachable !== undefined && reachable > total * 1.1 + 10) {
    findings.push(
      between('the total and the records', `the total says ${total}, and ${reachable} records can be reached`),
    );
  }
  return findings;
};

const totalOf = (base: Look, list: Readonly<Record<string, unknown>>): number | undefined => {
  const { total_path, total_header } = list;
  const value =
    typeof total_path === 'string'
      ? valueAt(base.body, total_path)
      : typeof total_header === 'string'
        ? base.headers[total_header]
        : undefined;
  const total = Number(value);
  return value === undefined || !Number.isSafeInteger(total) ? undefined : total;
};
