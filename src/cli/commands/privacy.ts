import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { isObject } from '../../calls/field-reader.ts';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { parseQuietly } from '../../lib/parse-json.ts';
import { applyAges } from '../../pipeline/load/apply-ages.ts';
import { applyRules } from '../../pipeline/load/apply-rules.ts';
import { findCalls, finishErasure } from '../../pipeline/persons/erase.ts';
import type { Privacy } from '../../privacy/privacy.ts';
import { readRows } from '../../store/ledger/ledger.ts';
import { listNewestCalls } from '../../store/ledger/newest-calls.ts';
import { isSigned, type ReceiptProof } from '../../store/persons/receipts.ts';
import { ingestDeps, openAges } from '../parts/activity-deps.ts';
import { describeErasure } from '../parts/describe-erasure.ts';
import { openRules } from '../parts/open-privacy.ts';
import { openProof } from '../parts/open-proof.ts';
import { openStoreService } from '../parts/open-store.ts';
import { openWarehouses } from '../parts/open-warehouses.ts';
import { type PersonOptions, withPerson, withPersonOptions } from '../parts/person-request.ts';
import type { Services } from '../parts/services.ts';
import {
  type CommonOptions,
  print,
  wholeNumber,
  withCommonOptions,
  withServices,
  withStore,
} from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { withExamples } from '../shell/output.ts';
import { addHoldCommands } from './hold.ts';
import { addPrivacyKeys } from './privacy-keys.ts';
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

interface PreviewOptions extends CommonOptions {
  readonly stored?: number;
}

const previewCall = (privacy: Privacy, before: Fields) => {
  const findings: Record<string, number> = {};
  const { fields: after, findings: found } = privacy.preview(before);
  for (const detector of found) findings[detector] = (findings[detector] ?? 0) + 1;
  return { before, after, findings };
};

const preview = (options: PreviewOptions): Promise<void> =>
  withServices(options, async (services) => {
    const privacy = openRules(services.config);
    const calls = options.stored === undefined ? [sampleRecord()] : await readNewest(services, options.stored);
    const shown = calls.map((call) => previewCall(privacy, call));
    const findings: Record<string, number> = {};
    for (const one of shown)
      for (const [detector, count] of Object.entries(one.findings))
        findings[detector] = (findings[detector] ?? 0) + count;
    const text = shown.flatMap(({ before, after }) => [
      `--- before\n${JSON.stringify(before, null, 2)}`,
      `+++ after\n${JSON.stringify(after, null, 2)}`,
    ]);
    const counts = Object.entries(findings).map(([detector, count]) => `${detector} ${count}`);
    print(
      options,
      { rules: privacy.version, calls: shown, findings },
      `${text.join('\n')}\nRules ${privacy.version}. Found in ${shown.length} call(s): ${counts.sort().join(', ') || 'nothing'}.`,
    );
  });

const apply = (options: CommonOptions): Promise<void> =>
  withServices(options, async (services) => {
    const privacy = openRules(services.config);
    const store = await openStoreService(services);
    const deps = ingestDeps(services, { store, targets: await openWarehouses(services, store) });
    let told = 0;
    const result = await applyRules(deps, privacy, (calls) => {
      if (calls - told < callsPerLine) return;
      told = calls;
      services.say(`${calls} calls looked at.`);
    });
    const { calls, changed, inbox, quarantine, indexed } = result;
    print(
      options,
      { rules: privacy.version, ...result },
      `Rules ${privacy.version} changed ${changed} of ${calls} calls that were under others, ${inbox} deliveries and ${quarantine} quarantined records; ${indexed} calls came into the index by which requests of persons find them. Warehouses get the calls with their next loads. What rules took before does not come back: looser rules act on what comes in from now on.`,
    );
  });

/** Answers a request for access: the documents of the calls that an erasure would mean. */
const exportPerson = (options: PersonOptions): Promise<void> =>
  withPerson(options, { mayCome: false }, async ({ meant, store, services }) => {
    let [found, erased, unseen] = [0, 0, 0];
    for (const id of await findCalls(store, meant)) {
      const row = (await readRows(store, [id])).get(id);
      if (row === undefined) unseen += 1;
      else if (row.tombstone) erased += 1;
      else {
        found += 1;
        process.stdout.write(`${JSON.stringify(row.document)}\n`);
      }
    }
    const others = [...(erased > 0 ? [`${erased} erased`] : []), ...(unseen > 0 ? [`${unseen} never seen here`] : [])];
    services.say(`${countOf(found, 'call')}${others.map((one) => `; ${one}`).join('')}.`);
  });

interface RetentionOptions extends CommonOptions {
  readonly dryRun?: boolean;
}

const retain = (options: RetentionOptions): Promise<void> =>
  withServices(options, async (services) => {
    const ages = openAges(services.config);
    if (ages === undefined) {
      throw terminal('RETENTION_OFF', 'Nothing of a call has a limit of age.', { hint: 'Set privacy.retention.' });
    }
    const store = await openStoreService(services);
    const deps = ingestDeps(services, { store, targets: await openWarehouses(services, store) });
    const dryRun = options.dryRun === true;
    const counts = await applyAges(deps, ages, { dryRun });
    const { words, transcripts, freeFields, calls, bodies } = counts;
    print(
      options,
      { dryRun, ...counts },
      `${dryRun ? 'To be looked at' : 'Taken'}: words of ${words} calls, transcripts of ${transcripts}, free fields of ${freeFields}, ${calls} whole calls${dryRun ? '' : `, bodies of ${bodies} deliveries. Warehouses follow with their next loads`}.`,
    );
  });

/** Of an erasure that was left to the workers; where they are away, it is finished here if nothing waits. */
const showReceipt = (requestId: string, options: CommonOptions): Promise<void> =>
  withStore(options, async (store, services) => {
    const targets = await openWarehouses(services, store);
    const deps = { ...ingestDeps(services, { store, targets }), proof: openProof(services.config) };
    const { waiting, receipt } = await finishErasure(deps, requestId, { load: false });
    if (receipt !== undefined) return print(options, receipt, describeErasure(receipt));
    print(
      options,
      { requestId, receipt: null, waiting },
      `Not signed yet: ${waiting.join(', ')} still holds something.`,
    );
    process.exitCode = exitCodes.incomplete;
  });

const printPublicKey = (options: CommonOptions): Promise<void> =>
  withServices(options, async ({ config }) => {
    const { publicKey } = openProof(config).keys;
    print(options, { publicKey }, publicKey.trimEnd());
  });

/** Needs neither a configuration nor a secret. */
const checkReceipt = async (file: string, { publicKey, ...options }: CheckOptions): Promise<void> => {
  const [text, pem] = await Promise.all([file, publicKey].map((path) => readFile(path, 'utf8'))).catch((cause) => {
    throw terminal('USAGE_RECEIPT', 'The receipt or the public key cannot be read.', {
      hint: 'Give the receipt as --json printed it, and the key as callsync privacy public-key prints it.',
      cause,
    });
  });
  const receipt: unknown = parseQuietly(Buffer.from(text as string));
  if (!isReceipt(receipt))
    throw terminal('USAGE_RECEIPT', 'The file is no receipt as --json prints it.', {
      hint: 'Give the receipt as --json printed it, and the key as callsync privacy public-key prints it.',
    });
  const signed = isSignedBy(receipt, pem as string);
  print(options, { signed }, signed ? 'The receipt was signed by the holder of this key.' : 'The signature is wrong.');
  if (!signed) process.exitCode = exitCodes.refused;
};

interface CheckOptions extends CommonOptions {
  readonly publicKey: string;
}

const isReceipt = (value: unknown): value is { readonly proof: ReceiptProof } =>
  isObject(value) && isObject(value.proof) && typeof value.proof.digest === 'string';

const isSignedBy = (receipt: { readonly proof: ReceiptProof }, pem: string): boolean => {
  try {
    return isSigned(receipt, pem);
  } catch (cause) {
    throw terminal('USAGE_RECEIPT', 'The public key is no key in PEM.', {
      hint: 'Give the receipt as --json printed it, and the key as callsync privacy public-key prints it.',
      cause,
    });
  }
};

const callsPerLine = 10_000;

export const addPrivacy = (command: Command): void => {
  const privacy = command.addHelpText(
    'after',
    '\nExamples:\n  callsync privacy preview\n  callsync privacy preview --stored 3\n  callsync privacy apply',
  );
  withExamples(withCommonOptions(privacy.command('preview')), [
    'callsync privacy preview',
    'callsync privacy preview --stored 3 --json',
  ])
    .description('what the configured rules make of an invented call, or of stored ones; changes nothing')
    .option('--stored <n>', 'of so many of the newest stored calls, whose content is printed', wholeNumber(1, 1_000))
    .action(preview);
  withExamples(withCommonOptions(privacy.command('apply')), ['callsync privacy apply'])
    .description(
      'apply the configured rules to what is stored already: ledger, deliveries, quarantine, then every warehouse',
    )
    .action(apply);
  withExamples(withPersonOptions(privacy.command('export')), [
    'callsync privacy export --by phone > calls.ndjson',
    'callsync privacy export --by metadata --key ClientID --file clients.txt',
  ])
    .description("print a person's calls as they are stored, one JSON document a line, to answer a request for access")
    .action(exportPerson);
  withExamples(withCommonOptions(privacy.command('retention')), [
    'callsync privacy retention --dry-run',
    'callsync privacy retention --json',
  ])
    .description('take what is older than privacy.retention allows, as maintenance does; with --dry-run count it')
    .option('--dry-run', 'count the calls, and change nothing')
    .action(retain);
  withExamples(withCommonOptions(privacy.command('receipt')), ['callsync privacy receipt 0123456789abcdef --json'])
    .description('the signed receipt of an erasure that was left with --no-wait or Ctrl-C')
    .argument('<erasure>', 'its name, as callsync erase told it')
    .action(showReceipt);
  withExamples(withCommonOptions(privacy.command('public-key')), ['callsync privacy public-key > callsync.pem'])
    .description('print the public key with which anyone can check receipts of erasures and holds')
    .action(printPublicKey);
  withExamples(withCommonOptions(privacy.command('check-receipt')), [
    'callsync privacy check-receipt receipt.json --public-key callsync.pem',
  ])
    .description('check the signature of a receipt; needs no configuration and no secret')
    .argument('<file>', 'the receipt, as --json printed it')
    .requiredOption(
      '--public-key <file>',
      'the public key of the installation, as callsync privacy public-key prints it',
    )
    .action(checkReceipt);
  addHoldCommands(privacy);
  addPrivacyKeys(privacy);
};
