/** `callsync privacy hold`: what neither erasures nor ages may take. */

import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { countOf } from '../../lib/count-of.ts';
import { addHold, type HoldReceipt, removeHold } from '../../pipeline/persons/hold.ts';
import { type ListedHold, listHolds } from '../../store/persons/keys.ts';
import { openProof } from '../parts/open-proof.ts';
import { type PersonOptions, withPerson, withPersonOptions } from '../parts/person-request.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../shell/command.ts';
import { withExamples } from '../shell/output.ts';

interface ReasonOptions {
  readonly reason: string;
}

/** An account without a name has a number at least. */
const readActor = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
};

const describe = ({ hold: { id, action }, calls, gone, persons, proof }: HoldReceipt): string =>
  [
    `Hold ${id} is ${action} ${countOf(calls, 'call')}.`,
    ...(gone > 0 ? [`${gone} were erased before: nothing is left of them to be kept.`] : []),
    ...(persons > 0
      ? [`An erasure of ${persons} of the values was asked for before: what it took cannot be kept.`]
      : []),
    `Receipt ${proof.receipt_id} is signed: callsync verdicts verify checks it.`,
  ].join('\n');

const describeListed = ({ id, kind, calls, actor, at, reason }: ListedHold): string =>
  `${id}  ${at.toISOString()}  by ${kind.padEnd(8)}  ${String(calls).padStart(8)} calls  ${actor}: ${reason}`;

const add = (options: PersonOptions & ReasonOptions): Promise<void> =>
  withPerson(options, { mayCome: true }, async ({ meant, store, services: { config } }) => {
    const clerk = { proof: openProof(config), reason: options.reason, actor: readActor() };
    const receipt = await addHold(store, meant, clerk);
    print(options, receipt, describe(receipt));
  });

const list = (options: CommonOptions): Promise<void> =>
  withStore(options, async (store) => {
    const holds = await listHolds(store);
    print(options, holds, holds.length === 0 ? 'Nothing is held.' : holds.map(describeListed).join('\n'));
  });

const remove = (id: string, options: CommonOptions & ReasonOptions): Promise<void> =>
  withStore(options, async (store, { config }) => {
    await store.checkKeys();
    const means = { proof: openProof(config), actor: readActor() };
    const receipt = await removeHold(store, id, { ...means, reason: options.reason });
    print(options, receipt, describe(receipt));
  });

/** @param privacy the group of commands that it belongs to. */
export const addHoldCommands = (privacy: Command): void => {
  const hold = withExamples(
    privacy.command('hold').description('legal holds: what they name is neither erased nor taken for its age'),
    ['callsync privacy hold list', 'callsync privacy hold remove 1a2b3c4d --reason "case 2026-17 is closed"'],
  );
  withExamples(
    withPersonOptions(hold.command('add')),
    [
      'callsync privacy hold add --by phone --reason "case 2026-17"',
      'callsync privacy hold add --by call --file calls.txt --reason "case 2026-17" --json',
    ],
    'Values never go into the arguments, and the reason names nobody: it is stored and shown.',
  )
    .description('hold the calls that the values mean, and later ones that name them')
    .requiredOption('--reason <text>', 'why, such as the number of a case')
    .action(add);
  withExamples(withCommonOptions(hold.command('list')), [
    'callsync privacy hold list',
    'callsync privacy hold list --json',
  ])
    .description('the holds, with their reasons and how many calls they name')
    .action(list);
  withExamples(withCommonOptions(hold.command('remove')), [
    'callsync privacy hold remove 1a2b3c4d --reason "case 2026-17 is closed"',
  ])
    .description('take a hold off: erasures and ages act again, also on what it kept')
    .argument('<hold>', 'its name, as callsync privacy hold list has it')
    .requiredOption('--reason <text>', 'why')
    .action(remove);
};
