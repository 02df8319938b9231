/** Text and configuration of a probe's report. */
import { Document, isMap, parseDocument, stringify } from 'yaml';
import { type ListConfig, listConfigSchema } from '../../../schemas/config/list.ts';
import type { ProbeReport } from './probe.ts';

/** One line a finding, then the section as it would be written. */
export const renderProbe = (report: ProbeReport): string => {
  const width = Math.max(...report.findings.map(({ key }) => key.length));
  const lines = report.findings.map(
    ({ key, found, confidence, evidence }) => `${key.padEnd(width)}  ${found}  (${confidence}: ${evidence})`,
  );
  const fit =
    report.preset === undefined
      ? 'No preset fits.'
      : `The preset ${report.preset.preset} fits: ${report.preset.description}.`;
  return [
    ...lines,
    '',
    fit,
    `${report.requests} of at most ${report.maxRequests} requests were made${report.complete ? '' : '; not every question was answered'}.`,
    '',
    stringify({ source: sectionOf(report) }).trimEnd(),
  ].join('\n');
};

const sectionOf = ({ authScheme, tokenFormat, list }: ProbeReport): Record<string, unknown> => ({
  ...(authScheme === 'bearer' ? {} : { auth_scheme: authScheme }),
  ...(tokenFormat === 'form' ? {} : { token_format: tokenFormat }),
  list: withoutDefaults(list),
});

/** Only what differs from the defaults, so that the section stays readable. */
const withoutDefaults = (list: ListConfig): Record<string, unknown> => {
  const defaults: Record<string, unknown> = listConfigSchema.parse({});
  return Object.fromEntries(
    Object.entries(list).filter(
      ([key, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(defaults[key]),
    ),
  );
};

/**
 * The text of a configuration file with its `source.list` replaced by what was found; everything else, comments
 * included, stays as it is.
 */
export const writeListSection = (text: string, report: ProbeReport): string => {
  const document = text.trim() === '' ? new Document({}) : parseDocument(text);
  const section = sectionOf(report);
  if (!isMap(document.contents)) document.contents = document.createNode({}) as typeof document.contents;
  for (const [key, value] of Object.entries(section)) document.setIn(['source', key], document.createNode(value));
  return document.toString();
};
