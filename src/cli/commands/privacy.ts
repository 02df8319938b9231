import { terminal } from '../../lib/errors.ts';
import { applyAges } from '../../pipeline/load/apply-ages.ts';
import { applyRules } from '../../pipeline/load/apply-rules.ts';
import { readRows } from '../../store/ledger/ledger.ts';
import { listNewestCalls } from '../../store/ledger/read-ledger.ts';
import { openAges, openIngest } from '../parts/activity-deps.ts';
import { openRules } from '../parts/keys.ts';
import { openStoreService } from '../parts/open-store.ts';
import type { Services } from '../parts/services.ts';
import { withServices, withStore } from '../parts/with-services.ts';
import { flag, group, leaf, parsed, wholeNumber } from '../shell/define.ts';
import { print } from '../shell/output.ts';
import { personCommands } from './persons.ts';
import { sampleCall, sampleUtterance } from './webhook/sample-call.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Invented values of every kind, in a range of numbers kept for fiction. */
const spokenSample = [
  'je suis née le 12 mars 1985 et mon numéro est le zéro six trente-neuf quatre-vingt-dix-huit douze trente-quatre',
  'mon adresse est jean point dupont arobase example point com et ma carte la 4970 1000 0000 0055',
  'le cryptogramme un deux trois et le compte FR76 3000 6000 0112 3456 7890 189',
];

const sampleRecord = (): Fields => {
  const call = sampleCall('sample');
  const transcript = call.transcript_json as { readonly callData: readonly unknown[] };
  const said = spokenSample.map((text, index) => sampleUtterance('in', 6 + index * 10, text.split(' ')));
  return {
    ...call,
    metadata: { ...(call.metadata as object), ANI: '33639981234', Agent: 'agent-001' },
    transcript_json: { ...transcript, callData: [...transcript.callData, ...said] },
    in: { label: null, data: '+33 6 39 98 12 34', type: 'PHONE' },
  };
};

const readNewest = async (services: Services, count: number): Promise<Fields[]> => {
  const store = await openStoreService(services);
  const rows = await readRows(store, await listNewestCalls(store, count));
  return [...rows.values()].flatMap(({ document }) => (document === null ? [] : [{ ...document }]));
};

const tally = (found: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const detector of found) counts[detector] = (counts[detector] ?? 0) + 1;
  return counts;
};

const callsPerLine = 10_000;

export default group({
  commands: {
    preview: leaf({
      does: 'preview the rules on an invented call, or on stored ones; changes nothing',
      options: {
        stored: parsed('--stored <n>', 'preview the n newest stored calls; prints call content', wholeNumber(1, 1_000)),
      },
      examples: ['callsync privacy preview', 'callsync privacy preview --stored 3 --json'],
      within: withServices,
      run: async (options, services) => {
        const { version: rules, preview: see } = openRules(services.config);
        const calls = options.stored === undefined ? [sampleRecord()] : await readNewest(services, options.stored);
        const seen = calls.map((before) => ({ before, ...see(before) }));
        const findings = tally(seen.flatMap((one) => one.findings));
        const shown = seen.map(({ before, fields, findings: found }) => ({
          before,
          after: fields,
          findings: tally(found),
        }));
        const text = shown.flatMap(({ before, after }) => [
          `--- before\n${JSON.stringify(before, null, 2)}`,
          `+++ after\n${JSON.stringify(after, null, 2)}`,
        ]);
        const counts = Object.entries(findings).map(([detector, count]) => `${detector} ${count}`);
        const found = `Found in ${shown.length} call(s): ${counts.sort().join(', ') || 'nothing'}.`;
        print(options, { rules, calls: shown, findings }, `${text.join('\n')}\nRules ${rules}. ${found}`);
      },
    }),
    apply: leaf({
      does: 'apply the rules to stored data: ledger, deliveries, quarantine, then every warehouse',
      examples: ['callsync privacy apply'],
      within: withStore,
      run: async (options, store, services) => {
        const privacy = openRules(services.config);
        const deps = await openIngest(services, store);
        let told = 0;
        const result = await applyRules(deps, privacy, (calls) => {
          if (calls - told < callsPerLine) return;
          told = calls;
          services.say(`${calls} calls checked.`);
        });
        const { calls, changed, inbox, quarantine, indexed } = result;
        print(
          options,
          { rules: privacy.version, ...result },
          `Rules ${privacy.version} changed ${changed} of ${calls} calls under older rules, ${inbox} deliveries and ${quarantine} quarantined records; ${indexed} calls came into the index of persons. Warehouses get the calls with their next loads. Relaxing a rule does not restore removed data.`,
        );
      },
    }),
    retention: leaf({
      does: 'remove data beyond privacy.retention, as the daily maintenance does',
      options: { dryRun: flag('--dry-run', 'count the calls, and change nothing') },
      examples: ['callsync privacy retention --dry-run', 'callsync privacy retention --json'],
      within: withStore,
      run: async (options, store, services) => {
        const ages = openAges(services.config);
        if (ages === undefined)
          throw terminal('RETENTION_OFF', 'No retention limit is configured.', { hint: 'Set privacy.retention.' });
        const deps = await openIngest(services, store);
        const dryRun = options.dryRun === true;
        const counts = await applyAges(deps, ages, { dryRun });
        const { words, transcripts, freeFields, calls, bodies } = counts;
        print(
          options,
          { dryRun, ...counts },
          `${dryRun ? 'To be looked at' : 'Taken'}: words of ${words} calls, transcripts of ${transcripts}, free fields of ${freeFields}, ${calls} whole calls${dryRun ? '' : `, bodies of ${bodies} deliveries. Warehouses follow with their next loads`}.`,
        );
      },
    }),
    ...personCommands,
  },
});
