/** Invented persons, none of whose values is part of another's, and the calls in which they occur. */

import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { CallDocument } from '../../../schemas/call.ts';
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { CallsyncError } from '../../../src/lib/errors.ts';
import { JsonRecord } from '../../../src/lib/json-record.ts';
import type { IngestDeps, WarehouseTarget } from '../../../src/pipeline/deps.ts';
import { replayQuarantine } from '../../../src/pipeline/import/replay-quarantine.ts';
import { checkBeforeLoad, createLedgerCheck } from '../../../src/pipeline/load/check-ledger.ts';
import { ingest } from '../../../src/pipeline/load/ingest.ts';
import { loadPending } from '../../../src/pipeline/load/load-pending.ts';
import { verifyReceipts } from '../../../src/store/persons/receipts.ts';
import { countRows } from '../../../src/warehouse/content-hash.ts';
import { requireFrom } from '../../../src/warehouse/warehouse.ts';
import { backUp } from '../../support/backup.ts';
import { erase } from '../../support/persons.ts';
import { deliver, observationOf, type Pipeline } from '../../support/pipeline.ts';
import { groups, padded, serialOf, utteranceOf, personOf as valuesOfPerson } from '../load/planted-values.ts';
import { readSchemas } from './search-everything.ts';

const personOf = (index: number) => ({ ...valuesOfPerson(index), client: `client-${serialOf(index)}-${index}` });

const callsPerPerson = 3;
const callIdOf = (person: number, call: number): string => `call-${padded(person, 5)}-${call}`;

/** @param round changes what is said, so that bodies differ. */
const recordOf = (index: number, call: number, round: number): CallDocument => {
  const { phone, client, email } = personOf(index);
  return {
    unique_id: callIdOf(index, call),
    timestamp: new Date(Date.UTC(2025, 2, 1 + (index % 5), 10)).toISOString(),
    qualified: new Date(Date.UTC(2025, 2, 1 + (index % 5), 10, 1)).toISOString(),
    status: `round-${round}`,
    in: { label: null, data: `33${phone.slice(1)}`, type: 'PHONE' },
    metadata: { ANI: `+33${phone.slice(1)}`, ClientID: client, Memo: `rappeler ${groups(phone)} ou ${email}` },
    transcript_json: {
      callData: [utteranceOf('in', `mon numéro ${groups(phone)}`), utteranceOf('out', `noté ${email} merci`)],
    },
  };
};

/** Serial numbers of whatever in a text is a value of some person, however it is written. */
function* serialsIn(text: string): Generator<string> {
  for (const [, serial = ''] of text.matchAll(/(?:person|client-)(\d{8})/g)) yield serial;
  for (const [found] of text.matchAll(/\d(?:[\s.()/-]{0,3}\d){8,13}/g)) {
    const digits = found.replaceAll(/\D/g, '');
    if (digits.at(-9) === '6') yield digits.slice(-8);
  }
}

/**
 * Persons are erased while late, repeated and replayed events of theirs arrive by every way. Then ledger and warehouses
 * are set back to before, one by one and together. At last the ledger is lost. After each, everything is searched for
 * their values.
 */
/** A warehouse that can be set back. */
export interface RestorableTarget {
  readonly target: WarehouseTarget;
  backUp(): Promise<() => Promise<void>>;
  /** Everything that it holds. */
  read(): AsyncIterable<string>;
  /** Calls that a search in its index finds; undefined where it has none. */
  readonly search?: (text: string) => Promise<readonly string[]>;
}

/** Of each a search finds a few calls. */
const peoplePerSearch = 50;

export const eraseUnderRestores = async (
  pipeline: Pipeline,
  targets: readonly RestorableTarget[],
  input: { readonly erased: number; readonly others: number; readonly events: number },
) => {
  const { store } = pipeline;
  const { headsFile } = store.erasures.proof;
  const warehouses = targets.map(({ target }) => target.warehouse);
  const check = createLedgerCheck({ store, warehouses, say: () => undefined });
  const deps: IngestDeps = {
    ...pipeline.deps,
    targets: targets.map(({ target }) => ({ ...target, warehouse: checkBeforeLoad(target.warehouse, check) })),
  };
  const sought = new Set(Array.from({ length: input.erased }, (_, index) => serialOf(index)));
  const people = input.erased + input.others;
  /** Receipts that verified, after each step. */
  const verified: number[] = [];

  const loadInto = async (warehouse: string): Promise<void> => {
    while ((await loadPending(deps, { warehouse, origin: 'test', graceSeconds: 0 })).sent > 0);
  };
  const load = async (): Promise<void> => {
    for (const { name } of warehouses)
      await loadInto(name).catch(async (error) => {
        if (!(error instanceof CallsyncError) || error.kind !== 'transient') throw error;
        // The ledger was restored: the load is planned again.
        await loadInto(name);
      });
  };

  let round = 0;
  /** Events of persons `from` up to `to`, by the ways in turn. */
  const send = async (count: number, from: number, to: number): Promise<void> => {
    const bodies: { body: string; deliveryId: string }[] = [];
    const observed: Observation[] = [];
    const rejected: RejectedRecord[] = [];
    for (let index = 0; index < count; index += 1) {
      round += 1;
      const person = from + (round % (to - from));
      const call = round % callsPerPerson;
      const callId = callIdOf(person, call);
      // Every third repeats what came before.
      const fields = recordOf(person, call, index % 3 === 0 ? 0 : round);
      const text = JSON.stringify(fields);
      const way = round % 5;
      const deliveryId = `${callId}:${round}`;
      if (way < 2) bodies.push({ body: way === 0 ? text : text.replace('"Memo"', `"Memo ${index % 7}"`), deliveryId });
      else if (way === 2) bodies.push({ body: text.slice(0, -2), deliveryId });
      else {
        const source = way === 3 ? 'poll' : 'import';
        observed.push({ callId, source, observedAt: 1_740_000_000_000_000 + round, fields: new JsonRecord(fields) });
        const body = Buffer.from(text.slice(0, -1));
        if (index % 4 === 0) rejected.push({ reason: 'no JSON', source, origin: 'list', receivedAt: new Date(), body });
      }
    }
    await deliver(store, bodies);
    await (await ingest(deps, { observations: observed, rejected, origin: 'test' })).load();
    await pipeline.merge(deps);
  };
  const replay = () => replayQuarantine(deps, { carries: new Set() });

  /** Calls that a search finds by what persons `from` up to `to` said. */
  const findSaid = async (searchFor: NonNullable<RestorableTarget['search']>, from: number, to: number) => {
    const found = new Set<string>();
    for (let at = from; at < to; at += peoplePerSearch) {
      const some = Array.from({ length: Math.min(peoplePerSearch, to - at) }, (_, index) => personOf(at + index));
      const said = [some.map(({ email }) => email), some.map(({ phone }) => `"${groups(phone)}"`)];
      for (const texts of said) for (const callId of await searchFor(texts.join(' or '))) found.add(callId);
    }
    return found;
  };
  /** Nothing of erased persons is anywhere, every call of the others is in each warehouse, and receipts verify. */
  const look = async (step: string): Promise<void> => {
    await pipeline.merge(deps);
    await load();
    const texts: Record<string, AsyncIterable<string> | Iterable<string>> = {
      store: readSchemas(store.pool, ['callsync']),
      files: [pipeline.erasureLog, headsFile].map((file) => readFileSync(file, 'latin1')),
      ...Object.fromEntries(targets.map(({ target, read }) => [target.warehouse.name, read()])),
    };
    const found: string[] = [];
    for (const [place, all] of Object.entries(texts))
      for await (const text of all)
        for (const serial of serialsIn(text))
          if (sought.has(serial)) found.push(`${place}: ${serial}: ${text.slice(0, 200)}`);
    const kept = [];
    for (const { target, search } of targets) {
      kept.push(Number((await countRows(target.warehouse)).calls));
      if (search === undefined) continue;
      for (const callId of await findSaid(search, 0, input.erased))
        found.push(`search in ${target.warehouse.name}: ${callId}`);
      kept.push((await findSaid(search, input.erased, people)).size);
    }
    const { verdicts, broken, cut } = await verifyReceipts(store);
    process.stdout.write(`${JSON.stringify({ step, kept, verdicts, events: round })}\n`);
    expect(found.slice(0, 10), step).toEqual([]);
    expect(kept, step).toEqual(kept.map(() => input.others * callsPerPerson));
    expect({ broken, cut }, step).toEqual({ broken: [], cut: [] });
    verified.push(verdicts);
  };

  await check.run();
  for (let person = 0; person < people; person += 1) {
    const observations = [...Array(callsPerPerson).keys()].map((call) =>
      observationOf(callIdOf(person, call), 1_740_000_000_000_000, recordOf(person, call, 0)),
    );
    await pipeline.observe(observations, deps);
  }
  await send(Math.min(people * 2, 400), 0, people);
  await load();
  const before = {
    ledger: await backUp(store.pool, 'callsync'),
    warehouses: await Promise.all(targets.map((one) => one.backUp())),
  };

  // Half of the requests name a number, half the value of a key. Events arrive meanwhile.
  let erasedCalls = 0;
  const half = Math.ceil(input.erased / 2);
  const numbers = Array.from({ length: half }, (_, index) => groups(personOf(index).phone));
  const clients = Array.from({ length: input.erased - half }, (_, index) => personOf(half + index).client);
  const perBatch = 100;
  let sent = 0;
  const arrive = async (): Promise<void> => {
    while (sent < input.events) {
      const count = Math.min(perBatch, input.events - sent);
      sent += count;
      await send(count, 0, people);
      if (sent % (perBatch * 5) === 0) await replay();
    }
  };
  await Promise.all([
    arrive(),
    (async () => {
      for (let at = 0; at < numbers.length; at += perBatch)
        erasedCalls += (await erase(deps, { kind: 'phone', values: numbers.slice(at, at + perBatch) })).erased;
      for (let at = 0; at < clients.length; at += perBatch) {
        const values = clients.slice(at, at + perBatch);
        erasedCalls += (await erase(deps, { kind: 'metadata', key: 'ClientID', values })).erased;
      }
    })(),
  ]);
  await replay();
  await look('erased under load');

  const settle = async (step: string): Promise<void> => {
    await check.run();
    await load();
    await send(perBatch, 0, input.erased);
    await replay();
    await look(step);
  };
  await before.ledger();
  await settle('ledger restored');
  for (const [index, restore] of before.warehouses.entries()) {
    await restore();
    await settle(`${targets[index]?.target.warehouse.name} restored`);
  }
  await before.ledger();
  for (const restore of before.warehouses) await restore();
  await settle('both restored');
  await store.pool.query('DROP SCHEMA callsync CASCADE');
  for (let looks = 0; looks < 3; looks += 1) await check.watch();
  await settle('ledger lost');
  return { erasedCalls, verified };
};

/** The PostgreSQL warehouse of the pipeline, with a search index. */
export const openPostgresTarget = async (pipeline: Pipeline): Promise<RestorableTarget> => {
  const search = requireFrom(pipeline.warehouse, 'search');
  await search.create();
  return {
    target: pipeline.target,
    backUp: () => backUp(pipeline.store.pool, 'wh_main'),
    read: () => readSchemas(pipeline.store.pool, ['wh_main']),
    search: async (text) => {
      const { calls, more, pending } = await search.find({ text, limit: 1_000 });
      expect([more, pending], 'a search shows everything').toEqual([false, 0]);
      return calls.map(({ callId }) => callId);
    },
  };
};
