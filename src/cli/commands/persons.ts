/** Subcommands of `callsync privacy` for requests of persons: access, legal holds, receipts. */
import { readFile } from 'node:fs/promises';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { isObject, parseQuietly } from '../../lib/parse-json.ts';
import { findCalls, finishErasure } from '../../pipeline/persons/erase.ts';
import { addHold, removeHold } from '../../pipeline/persons/hold.ts';
import { readRows } from '../../store/ledger/ledger.ts';
import { listHolds } from '../../store/persons/keys.ts';
import { isSigned, type ReceiptProof } from '../../store/persons/receipts.ts';
import { openIngest } from '../parts/activity-deps.ts';
import { openProof } from '../parts/keys.ts';
import { describeErasure, personOptions, withPerson } from '../parts/persons.ts';
import { readActor } from '../parts/read-actor.ts';
import { withServices, withStore } from '../parts/with-services.ts';
import { argument, group, leaf, option, required } from '../shell/define.ts';
import { endWith } from '../shell/exit.ts';
import { lines, print } from '../shell/output.ts';

type PersonOptions = Parameters<typeof withPerson>[0];

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
    const others = [...(erased > 0 ? [`${erased} erased`] : []), ...(unseen > 0 ? [`${unseen} unknown`] : [])];
    services.say(`${countOf(found, 'call')}${others.map((one) => `; ${one}`).join('')}.`);
  });

type ReasonOptions = { readonly reason: string };

const describe = ({ hold: { id, action }, calls, gone, persons, proof }: Awaited<ReturnType<typeof addHold>>): string =>
  lines(
    `Hold ${id} is ${action} ${countOf(calls, 'call')}.`,
    gone > 0 && `${gone} were erased earlier, so a hold cannot keep them.`,
    persons > 0 && `An earlier erasure named ${persons} of the values; a hold cannot keep the erased calls.`,
    `Receipt ${proof.receipt_id} is signed: callsync verdicts verify checks it.`,
  );

const add = (options: PersonOptions & ReasonOptions): Promise<void> =>
  withPerson(options, { mayCome: true }, async ({ meant, store }) => {
    const receipt = await addHold(store, meant, { reason: options.reason, actor: readActor() });
    print(options, receipt, describe(receipt));
  });

const isReceipt = (value: unknown): value is { readonly proof: ReceiptProof } =>
  isObject(value) && isObject(value.proof) && typeof value.proof.digest === 'string';

const isSignedBy = (receipt: { readonly proof: ReceiptProof }, pem: string): boolean => {
  try {
    return isSigned(receipt, pem);
  } catch (cause) {
    throw terminal('USAGE_RECEIPT', 'The public key is not in PEM format.', { cause });
  }
};

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
      run: add,
    }),
    list: leaf({
      does: 'list holds with their reasons and numbers of calls',
      examples: [listing, `${listing} --json`],
      within: withStore,
      run: async (options, store) => {
        const holds = await listHolds(store);
        const lines = holds.map(
          ({ id, kind, calls, actor, at, reason }) =>
            `${id}  ${at.toISOString()}  by ${kind.padEnd(8)}  ${String(calls).padStart(8)} calls  ${actor}: ${reason}`,
        );
        print(options, holds, holds.length === 0 ? 'Nothing is held.' : lines.join('\n'));
      },
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
        print(options, receipt, describe(receipt));
      },
    }),
  },
});

export const personCommands = {
  export: leaf({
    does: "print a person's stored calls, one JSON document a line",
    options: personOptions,
    examples: [
      'callsync privacy export --by phone > calls.ndjson',
      'callsync privacy export --by metadata --key ClientID --file clients.txt',
    ],
    run: exportPerson,
  }),
  receipt: leaf({
    does: 'print the signed receipt of an earlier erasure',
    args: [argument('<erasure>', 'name of the erasure, from the output of callsync erase')],
    examples: ['callsync privacy receipt 0123456789abcdef --json'],
    /** Prints the receipt of an earlier erasure. If no worker runs and nothing waits, it finishes the erasure here. */
    within: withStore,
    run: async (requestId, options, store, services) => {
      const deps = await openIngest(services, store);
      const { waiting, receipt } = await finishErasure(deps, requestId, { load: false });
      if (receipt !== undefined) return print(options, receipt, describeErasure(receipt));
      print(options, { requestId, receipt: null, waiting }, `Not signed yet: ${waiting.join(', ')} still has data.`);
      endWith('incomplete');
    },
  }),
  'public-key': leaf({
    does: 'print the public key for checks of receipts',
    examples: ['callsync privacy public-key > callsync.pem'],
    within: withServices,
    run: async (options, { config }) => {
      const { publicKey } = openProof(config).keys;
      print(options, { publicKey }, publicKey.trimEnd());
    },
  }),
  'check-receipt': leaf({
    does: 'check the signature of a receipt; needs no configuration and no secret',
    args: [argument('<file>', 'file with the output of callsync erase --json')],
    options: {
      publicKey: required(option('--public-key <file>', 'file with the output of callsync privacy public-key')),
    },
    examples: ['callsync privacy check-receipt receipt.json --public-key callsync.pem'],
    remarks: 'Exit code 5: the signature is wrong.',
    /** Needs neither a configuration nor a secret. */
    run: async (file, { publicKey, ...options }) => {
      const [text, pem] = await Promise.all([file, publicKey].map((path) => readFile(path, 'utf8'))).catch((cause) => {
        throw terminal('USAGE_RECEIPT', 'The receipt or the public key cannot be read.', { cause });
      });
      const receipt: unknown = parseQuietly(Buffer.from(text as string));
      if (!isReceipt(receipt)) throw terminal('USAGE_RECEIPT', 'The file is not a receipt that --json printed.');
      const signed = isSignedBy(receipt, pem as string);
      print(
        options,
        { signed },
        signed ? 'The receipt was signed by the holder of this key.' : 'The signature is wrong.',
      );
      if (!signed) endWith('incomplete');
    },
  }),
  hold,
};
