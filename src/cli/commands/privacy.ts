import type { CallDocument } from '../../../schemas/call.ts';
import { openAges, openIngest } from '../../app/activity-deps.ts';
import { openProof, openRules } from '../../app/open-rules.ts';
import { openStoreService, readActor, type Services, withServices, withStore } from '../../app/services.ts';
import { countEach, countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { isObject, parseQuietly } from '../../lib/parse-json.ts';
import { applyAges } from '../../pipeline/load/apply-ages.ts';
import { applyRules } from '../../pipeline/load/apply-rules.ts';
import { findCalls, finishErasure } from '../../pipeline/persons/erase.ts';
import { addHold, removeHold } from '../../pipeline/persons/hold.ts';
import { documentLost, readRows } from '../../store/ledger/ledger.ts';
import { readNewestCalls } from '../../store/ledger/read-ledger.ts';
import { listHolds } from '../../store/persons/keys.ts';
import { isSigned, type ReceiptProof } from '../../store/persons/receipts.ts';
import { argument, flag, group, leaf, option, parsed, required, wholeNumber } from '../shell/define.ts';
import { lines } from '../shell/output.ts';
import { describeErasure, personOptions, withPerson } from '../shell/persons.ts';
import { publicKeyOption, readSigned } from '../shell/signed.ts';
import { sampleCall, sampleUtterance } from './webhook/sample-call.ts';

/** Invented values of every kind, in a range of numbers kept for fiction. */
const spokenSample = [
  'bonjour camille exemple je suis née le 12 mars 1985 et mon numéro est le zéro six trente-neuf quatre-vingt-dix-huit douze trente-quatre',
  'mon adresse est jean point dupont arobase example point com et ma carte la 4970 1000 0000 0055',
  'le cryptogramme un deux trois et le compte FR76 3000 6000 0112 3456 7890 189',
];

const sampleRecord = (): CallDocument => {
  const call = sampleCall('sample');
  const transcript = call.transcript_json as { readonly callData: readonly unknown[] };
  const said = spokenSample.map((text, index) => sampleUtterance('in', 6 + index * 10, text));
  return {
    ...call,
    metadata: { ...(call.metadata as object), ANI: '33639981234', Agent: 'agent-001' },
    transcript_json: { ...transcript, callData: [...transcript.callData, ...said] },
    in: { label: 'Camille Exemple', data: '+33 6 39 98 12 34', type: 'PHONE' },
  };
};

const readNewest = async (services: Services, count: number): Promise<CallDocument[]> =>
  (await readNewestCalls(await openStoreService(services), count)).map(({ document }) => document);

const tally = (found: readonly string[]) => Object.fromEntries(countEach(found));

const callsPerLine = 10_000;

// Subcommands of `callsync privacy` for requests of persons: access, legal holds, receipts.

const describe = ({ hold: { id, action }, calls, gone, persons, proof }: Awaited<ReturnType<typeof addHold>>): string =>
  lines(
    `Hold ${id} is ${action} ${countOf(calls, 'call')}.`,
    gone > 0 && `${gone} were erased earlier, so a hold cannot keep them.`,
    persons > 0 && `An earlier erasure named ${persons} of the values; a hold cannot keep the erased calls.`,
    `Receipt ${proof.receipt_id} is signed: callsync verdicts checks it.`,
  );

const isReceipt = (value: unknown): value is { readonly proof: ReceiptProof } =>
  isObject(value) && isObject(value.proof) && typeof value.proof.digest === 'string';

const listing = 'callsync privacy hold list';
const removing = 'callsync privacy hold remove 1a2b3c4d --reason "case 2026-17 is closed"';

const hold = group({
  does: 'exempt calls from erasure and retention',
  commands: {
    add: leaf({
      does: 'exempt present and later calls with these values',
      options: {
        ...personOptions,
        reason: required(option('--reason <text>', 'reason, such as the number of a case')),
      },
      examples: [
        'callsync privacy hold add --by phone --reason "case 2026-17"',
        'callsync privacy hold add --by call --file calls.txt --reason "case 2026-17" --json',
      ],
      remarks: 'Never pass values as arguments. The reason is stored and shown, so it must not name a person.',
      run: (options) =>
        withPerson(options, { mayCome: true }, async ({ meant, store }) => {
          const receipt = await addHold(store, meant, { reason: options.reason, actor: readActor() });
          return [receipt, describe(receipt)];
        }),
    }),
    list: leaf({
      does: 'list holds with their reasons and numbers of calls',
      examples: [listing, `${listing} --json`],
      within: withStore,
      run: async (_options, store) => [await listHolds(store)],
    }),
    remove: leaf({
      does: 'remove a hold; erasures and retention then apply to its calls again',
      args: [argument('<hold>', `name of the hold, from ${listing}`)],
      options: { reason: required(option('--reason <text>', 'reason of the removal')) },
      examples: [removing],
      within: withStore,
      run: async (id, options, store) => {
        await store.checkKeys();
        const receipt = await removeHold(store, id, { actor: readActor(), reason: options.reason });
        return [receipt, describe(receipt)];
      },
    }),
  },
});

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
        const { version: rules, preview: see, unmatched } = openRules(services.config);
        const calls = options.stored === undefined ? [sampleRecord()] : await readNewest(services, options.stored);
        const seen = calls.map((before) => ({ before, ...see(before) }));
        const findings = tally(seen.flatMap((one) => one.findings));
        const shown = seen.map(({ before, fields: after, findings: all }) => ({ before, after, findings: tally(all) }));
        const text = shown.flatMap(({ before, after }) => [
          `--- before\n${JSON.stringify(before, null, 2)}`,
          `+++ after\n${JSON.stringify(after, null, 2)}`,
        ]);
        const counts = Object.entries(findings).map(([detector, count]) => `${detector} ${count}`);
        const found = `Found in ${shown.length} call(s): ${counts.sort().join(', ') || 'nothing'}.`;
        const idle = unmatched();
        const without = idle.length > 0 && `No field of these calls is under the rules ${idle.join(', ')}.`;
        const told = lines(...text, `Rules ${rules}. ${found}`, without);
        return [{ rules, calls: shown, findings, unmatched: idle }, told];
      },
    }),
    apply: leaf({
      does: 'apply the rules to stored data: ledger, deliveries, quarantine, then every warehouse',
      examples: ['callsync privacy apply'],
      within: withStore,
      run: async (_options, store, services) => {
        const privacy = openRules(services.config);
        const deps = await openIngest(services, store);
        let told = 0;
        const result = await applyRules(deps, privacy, (calls) => {
          if (calls - told < callsPerLine) return;
          told = calls;
          services.say(`${calls} calls checked.`);
        });
        const { calls, changed, inbox, quarantine, indexed } = result;
        return [
          { rules: privacy.version, ...result },
          `Rules ${privacy.version} changed ${changed} of ${calls} calls under older rules, ${inbox} deliveries and ${quarantine} quarantined records; ${indexed} calls came into the index of persons. Warehouses get the calls with their next loads. Relaxing a rule does not restore removed data.`,
        ];
      },
    }),
    retention: leaf({
      does: 'remove data beyond privacy.retention, as the daily maintenance does',
      options: { dryRun: flag('--dry-run', 'count the calls, and change nothing') },
      examples: ['callsync privacy retention --dry-run', 'callsync privacy retention --json'],
      within: withStore,
      run: async (options, store, services) => {
        const ages = openAges(services.config);
        if (ages === undefined) throw terminal('RETENTION_OFF', 'No retention limit is configured.');
        const deps = await openIngest(services, store);
        const dryRun = options.dryRun === true;
        const counts = await applyAges(deps, ages, { dryRun });
        const { words, transcripts, freeFields, calls, bodies } = counts;
        return [
          { dryRun, ...counts },
          `${dryRun ? 'To be looked at' : 'Taken'}: words of ${words} calls, transcripts of ${transcripts}, free fields of ${freeFields}, ${calls} whole calls${dryRun ? '' : `, bodies of ${bodies} deliveries. Warehouses follow with their next loads`}.`,
        ];
      },
    }),
    export: leaf({
      does: "print a person's stored calls, one JSON document a line",
      options: personOptions,
      examples: [
        'callsync privacy export --by phone > calls.ndjson',
        'callsync privacy export --by metadata --key ClientID --file clients.txt',
      ],
      /** Answers a request for access: the documents of the calls that an erasure would mean. */
      run: (options) =>
        withPerson(options, { mayCome: false }, async ({ meant, store, services }) => {
          let [found, erased, unseen, lost] = [0, 0, 0, ''];
          for (const id of await findCalls(store, meant)) {
            const row = (await readRows(store, [id])).get(id);
            if (row === undefined) unseen += 1;
            else if (row.tombstone) erased += 1;
            else if (row.document === null) lost ||= id;
            else {
              found += 1;
              process.stdout.write(`${JSON.stringify(row.document)}\n`);
            }
          }
          const others = [erased > 0 && `; ${erased} erased`, unseen > 0 && `; ${unseen} unknown`].filter(Boolean);
          services.say(`${countOf(found, 'call')}${others.join('')}.`);
          if (lost !== '') throw documentLost(lost);
        }),
    }),
    receipt: leaf({
      does: 'print the signed receipt of an earlier erasure',
      args: [argument('<erasure>', 'name of the erasure, from the output of callsync erase')],
      examples: ['callsync privacy receipt 0123456789abcdef --json'],
      /** Prints the receipt of an earlier erasure. If no worker runs and nothing waits, it finishes the erasure here. */
      within: withStore,
      run: async (requestId, _options, store, services) => {
        const deps = await openIngest(services, store);
        const { waiting, receipt } = await finishErasure(deps, requestId, { load: false });
        if (receipt !== undefined) return [receipt, describeErasure(receipt)];
        const text = `Not signed yet: ${waiting.join(', ')} still has data.`;
        return [{ requestId, receipt: null, waiting }, text, 'incomplete'];
      },
    }),
    'public-key': leaf({
      does: 'print the public key for checks of receipts',
      examples: ['callsync privacy public-key > callsync.pem'],
      within: withServices,
      run: async (_options, { config }) => {
        const { publicKey } = openProof(config).keys;
        return [{ publicKey }, publicKey.trimEnd()];
      },
    }),
    'check-receipt': leaf({
      does: 'check the signature of a receipt; needs no configuration and no secret',
      args: [argument('<file>', 'file with the output of callsync erase --json')],
      options: { publicKey: publicKeyOption },
      shared: 'json',
      examples: ['callsync privacy check-receipt receipt.json --public-key callsync.pem'],
      remarks: 'Exit code 5: the signature is wrong.',
      /** Needs neither a configuration nor a secret. */
      run: async (file, { publicKey }) => {
        const { bytes, key } = await readSigned('receipt', file, publicKey);
        const receipt: unknown = parseQuietly(bytes.toString());
        if (!isReceipt(receipt)) throw terminal('USAGE_RECEIPT', 'The file is not a receipt that --json printed.');
        const signed = isSigned(receipt, key);
        const tells = 'purged' in receipt ? describeErasure(receipt as never) : undefined;
        const at = 'at' in receipt ? `Requested at ${receipt.at}.` : undefined;
        if (signed) return [{ signed }, lines('The receipt was signed by the holder of this key.', at, tells)];
        return [{ signed }, 'The signature is wrong.', 'incomplete'];
      },
    }),
    hold,
  },
});
