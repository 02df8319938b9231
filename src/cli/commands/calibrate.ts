import { parseDocument, stringify } from 'yaml';
import type { CallDocument } from '../../../schemas/call.ts';
import type { AnalyticsConfig } from '../../../schemas/config/analytics.ts';
import { openConfigFile, withStore } from '../../app/services.ts';
import { flattenCall } from '../../calls/flatten.ts';
import { loadConfig } from '../../config/load.ts';
import { formatShare } from '../../lib/count-of.ts';
import { inferUnits, sampleCall } from '../../marts/calibrate.ts';
import { proposeFields } from '../../marts/propose-fields.ts';
import { readNewestCalls } from '../../store/ledger/read-ledger.ts';
import { flag, leaf, parsed, wholeNumber } from '../shell/define.ts';
import { lines } from '../shell/output.ts';

/** A key of a section of `analytics`; without a value it cannot be told. */
interface Proposed {
  readonly key: string;
  readonly value: unknown;
  readonly comment: string;
}

const inline = (value: object): string =>
  stringify(value, { flowCollectionPadding: true, collectionStyle: 'flow', lineWidth: 0 }).trim().slice(2, -2);

const render = (section: string, all: readonly Proposed[]): string =>
  lines(
    'analytics:',
    `  ${section}:`,
    all.flatMap(({ key, value, comment }) => [
      `    # ${comment}`,
      value === undefined ? `    # ${key}: cannot tell` : `    ${inline({ [key]: value })}`,
    ]),
  );

const proposeUnits = (documents: readonly CallDocument[]) => {
  const unseen = { callId: '', firstSeenAt: null, changedAt: null, sourceDeletedAt: null };
  const findings = inferUnits(documents.map((document) => sampleCall(flattenCall({ ...unseen, document }).rows)));
  const proposed = findings.map(({ field: key, unit, confidence, evidence }): Proposed => {
    const isClear = unit !== 'cannot tell';
    const comment = isClear ? `${evidence} (confidence ${confidence})` : evidence;
    return { key, value: isClear ? unit : undefined, comment };
  });
  return { section: 'units', proposed, result: { findings } };
};

const proposeColumns = (documents: readonly CallDocument[], configured: AnalyticsConfig['fields']) => {
  const proposals = proposeFields(documents, configured);
  const proposed = proposals.map(({ key, field: value, share, shapes }): Proposed => {
    const comment = `${formatShare(share)} of the calls, such as ${shapes.join(', ')}`;
    return { key, value, comment };
  });
  return { section: 'fields', proposed, result: { proposals } };
};

export default leaf({
  options: {
    calls: parsed('--calls <n>', 'number of newest calls to measure', wholeNumber(1, 100_000), '500'),
    fields: flag('--fields', 'propose typed columns for all metadata keys (analytics.fields) instead of units'),
    write: flag('--write', 'write the findings into the configuration file; comments stay'),
  },
  examples: ['callsync calibrate', 'callsync calibrate --write', 'callsync calibrate --fields'],
  remarks: `The command reads the newest calls from the store. Exit code 5: the unit of a field is unclear.
With --fields, it prints the share of calls, the type and the shapes of the texts, no values. A key gets a type only if all of its texts
have it. Digits that begin with 0 or +, or are more than nine, stay text. After --write, callsync warehouse fill NAME adds the columns.`,
  within: withStore,
  run: async (options, store) => {
    const { path, config } = await loadConfig({ path: options.config });
    const write = options.write === true ? openConfigFile(path) : undefined;
    const documents = (await readNewestCalls(store, options.calls)).map(({ document }) => document);
    const { section, proposed, result } =
      options.fields === true ? proposeColumns(documents, config.analytics.fields) : proposeUnits(documents);
    const clear = proposed.filter(({ value }) => value !== undefined);
    if (clear.length > 0)
      await write?.((text) => {
        // Everything else in the file stays, comments included.
        const document = parseDocument(text);
        for (const { key, value } of clear) document.setIn(['analytics', section, key], value);
        return document.toString();
      });
    const answer = { calls: documents.length, ...result };
    return [answer, render(section, proposed), clear.length < proposed.length && 'incomplete'];
  },
});
