/** The search index of a PostgreSQL warehouse: what is found, and that every load, erasure and removal keeps it right. */
import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { analyticsConfigSchema } from '../../../schemas/config/analytics.ts';
import { readSpeaker } from '../../../src/marts/mart.ts';
import { createLoader } from '../../../src/warehouse/postgres/load.ts';
import type { SearchHit, SearchRequest } from '../../../src/warehouse/search.ts';
import { openPostgres } from '../../support/open-postgres.ts';
import { connect, roleForTest } from '../../support/postgres.ts';
import { refusal } from '../../support/refusal.ts';
import { collect } from '../../support/rows.ts';
import { makeBatch, makeTombstone } from '../batches.ts';
import { createRandom, createTruth, makeQuestion, makeSayings, writeQuestion } from './search-truth.ts';
import { findAll, type Spoken, spoken } from './spoken-calls.ts';

const config = { schema: 'calls', documents: false } as const;
const { database, admin, open, close } = await openPostgres(config);
afterAll(close);
const warehouse = open();
await warehouse.migrate();
beforeEach(async () => {
  await warehouse.search.drop();
  await admin.query('TRUNCATE calls.calls, calls.utterances, calls.tombstones');
});

const load = (...calls: readonly Spoken[]) => warehouse.load(makeBatch({ calls: calls.map(spoken) }));

/** The calls, and an index of them. */
const index = async (...calls: readonly Spoken[]): Promise<void> => {
  await load(...calls);
  await warehouse.search.create();
};

const search = (request: SearchRequest) => findAll(warehouse, request);

const find = async (text: string, over: Partial<SearchRequest> = {}): Promise<string[]> =>
  (await search({ text, limit: 20, ...over })).calls.map(({ callId }) => callId);

/** The findings of each search, newest first. */
const expectFound = async (
  expected: Readonly<Record<string, readonly string[]>>,
  over: Partial<SearchRequest> = {},
) => {
  for (const [text, calls] of Object.entries(expected)) expect(await find(text, over), text).toEqual(calls);
};

/** A call of the language `fr-1` begins with, a minute after the one before it; each utterance begins with its side. */
const call = (callId: string, minute: number, ...said: readonly string[]): Spoken => ({
  callId,
  minute,
  lang: callId.slice(0, 2),
  says: said.map((text) => [text.slice(0, text.indexOf(' ')), text.slice(text.indexOf(' ') + 1)]),
});
/** The index must be equal to an index made anew. */
const expectFresh = async (): Promise<void> => {
  const rows = 'SELECT call_id, side, language, document FROM calls.transcript_search ORDER BY call_id, side';
  const read = async () => (await admin.query(rows)).rows;
  const kept = await read();
  await warehouse.search.drop();
  await warehouse.search.create();
  expect(kept).toEqual(await read());
};

test('accents, inflections in French and English, phrases, exclusions, sides and times', async () => {
  await index(
    call('fr-1', 1, "out Je voudrais résilier mon contrat, aujourd'hui.", 'in Entendu, un instant.'),
    call('fr-2', 2, 'out Mes factures sont annulées !', 'in Pourquoi résilier votre vieux contrat ?'),
    call('en-1', 3, 'out I was cancelling my subscriptions', 'in of course'),
    call('xx-1', 4, 'out naïve überschall'),
    call('fr-3', 5, 'out le dernier mot', 'out magique de la fin'),
  );
  await expectFound({
    'résilier contrat': ['fr-2', 'fr-1'],
    'RESILIER contrats': ['fr-2', 'fr-1'],
    résiliation: ['fr-2', 'fr-1'],
    '"résilier mon contrat"': ['fr-1'],
    '"mot magique"': [],
    'mot magique': ['fr-3'],
    'résilier -vieux': ['fr-1'],
    'annuler facture': ['fr-2'],
    'annulé or cancelled': ['en-1', 'fr-2'],
    'subscription cancel': ['en-1'],
    'naive uberschall': ['xx-1'],
    // A beginning finds words that begin with its stem; that of a stop word too.
    'factur*': ['fr-2'],
    'RESIL* contr*': ['fr-2', 'fr-1'],
    'subscri*': ['en-1'],
    'übers*': ['xx-1'],
    'résilier -vie*': ['fr-1'],
    'in*': ['fr-1'],
    'zzz*': [],
  });
  const [hit] = (await warehouse.search.find({ text: 'factur*', limit: 5 })).calls[0]?.hits ?? [];
  expect(hit?.highlights.map(([from, to]) => hit.text.slice(from, to))).toEqual(['factures']);
  for (const dash of ['-', '--', '-(', '-""'])
    expect(await find(`résilier ${dash} "mon contrat" voudrais`), dash).toEqual(['fr-1']);
  const to = Date.parse('2026-01-05T10:02:00Z') * 1000;
  await expectFound({ 'résilier contrat': ['fr-1'] }, { side: 'out' });
  await expectFound({ résilier: ['fr-1'] }, { to });
  await expectFound({ résilier: ['fr-2'] }, { from: to });
  expect(await search({ text: 'résilier', limit: 1 })).toMatchObject({ calls: [{ callId: 'fr-2' }], more: true });
  const [found] = (await search({ text: 'contrats "voudrais resilier"', limit: 1 })).calls;
  expect(found).toMatchObject({ callTimestamp: Date.parse('2026-01-05T10:01:00Z') * 1000, language: 'french' });
  expect(marked(found)).toEqual(['voudrais', 'résilier', 'contrat']);
});

test('a text and then, in a later utterance, another; by the agent or the customer of each direction', async () => {
  const changing: Spoken[] = [
    call('fr-1', 1, 'out je veux annuler', 'in bonjour', 'in un geste commercial'),
    call('fr-2', 2, 'in un geste commercial', 'out je veux annuler'),
    call('fr-3', 3, 'out annuler', 'out facture', 'in geste', 'in facture magique', 'out geste commercial et annuler'),
    call('fr-4', 4, 'in annuler contre un geste commercial'),
    call('en-5', 5, 'in please cancel', 'in the contract', 'out a refund'),
  ];
  await index(...changing);
  await admin.query("UPDATE calls.calls SET direction = CASE call_id WHEN 'fr-2' THEN 'OUT' ELSE 'IN' END");
  const expectThen = async (text: string, thenText: string, ids: readonly string[], over?: Partial<SearchRequest>) =>
    expect(await find(text, { thenText, ...over }), `${text}, then ${thenText}`).toEqual(ids);
  await expectThen('annulé', 'gestes', ['fr-3', 'fr-1']);
  await expectThen('annuler', '"geste commercial"', ['fr-3', 'fr-1']);
  await expectThen('geste', 'annuler', ['fr-3', 'fr-2']);
  await expectThen('annuler -commercial', 'facture or bonjour', ['fr-3', 'fr-1']);
  await expectThen('geste', 'facture -magique', []);
  await expectThen('annuler or cancel', 'geste or refund*', ['en-5', 'fr-3', 'fr-1']);
  await expectThen('annuler facture', 'geste', []);
  await expectThen('annuler', 'geste', ['fr-3'], { side: 'out' });
  await expectThen('annuler', 'geste', ['fr-3'], { limit: 1 });
  expect(await search({ text: 'annuler', thenText: 'geste', limit: 1 })).toMatchObject({ more: true });
  const [{ hits = [] } = {}] = (await search({ text: 'annuler', thenText: 'geste', limit: 1 })).calls;
  expect(hits.map(({ utteranceIndex }) => utteranceIndex)).toEqual([0, 2, 4]);
  await expect(find('annuler', { thenText: '-' })).rejects.toMatchObject({ code: 'USAGE_SEARCH' });

  const config = analyticsConfigSchema.parse({ agent_side: { by_direction: { in: 'out', OUT: 'in' } } });
  const by = (side: string) => readSpeaker(side, config);
  expect(await find('annuler', by('agent'))).toEqual(['fr-3', 'fr-1']);
  expect(await find('annuler', by('customer'))).toEqual(['fr-4', 'fr-2']);
  await expectThen('geste', 'facture', ['fr-3'], by('customer'));
  await expectThen('geste', 'facture', [], by('agent'));
  expect(() => readSpeaker('agent', analyticsConfigSchema.parse({}))).toThrow('The side of the agent is unknown');

  // Beyond the newest rows, by a walk and by the index.
  const said = ['out annuler', 'out autre'];
  await load(...Array.from({ length: 2_100 }, (_, at) => call(`fr-x${at}`, 50, said[at % 2] ?? '')));
  await findAll(warehouse, { text: 'autre', limit: 1 });
  await expectThen('annuler', 'geste', ['fr-3', 'fr-1']);
  await expectThen('geste', 'annuler', ['fr-3', 'fr-2']);
  await expectThen('cancel', 'refund', ['en-5']);
});

const marked = (found: { readonly hits: readonly SearchHit[] } | undefined): string[] | undefined => {
  const [hit] = found?.hits ?? [];
  return hit?.highlights.map(([start, end]) => hit.text.slice(start, end));
};

test('words are found beside typographic marks, as spoken and as typed, and shown with them', async () => {
  const said = 'École 😊girafe\u{1F600}\u{1F600} zèbre€ ‹okapi› „Über“ été\u00A0!';
  await index(
    call('fr-1', 1, 'out Allô… «pamplemousse» “ornithorynque” l’hippopotame\u202F; aujourd’hui—demain', `in ${said}`),
    call('fr-2', 2, `out Allo... "pamplemousse", l'hippopotame ; aujourd'hui - demain`),
  );
  const both = `allô|pamplemousse|l'hippopotame|l’hippopotame|aujourd’hui demain|allo…|«hippopotame aujourd’hui»`;
  for (const text of `${both}|“l’hippopotame, aujourd’hui—demain”|"hippopotame aujourd hui demain"`.split('|'))
    expect(await find(text), text).toEqual(['fr-2', 'fr-1']);
  for (const text of 'ornithorynque|ÉCOLE|girafe|zebre|okapi|uber|"über été"|"girafe zèbre" –okapi'.split('|'))
    expect(await find(text), text).toEqual(['fr-1']);
  await expectFound({ 'école -okapi': [], 'école −okapi': [] });
  const [found] = (await search({ text: 'girafes okapi', limit: 1 })).calls;
  expect(found?.hits[0]?.text).toBe(said);
  expect(marked(found)).toEqual(['girafe', 'okapi']);
});

test('words that the index cannot hold break nothing, also when the call is loaded again', async () => {
  const often = Array.from({ length: 300 }, () => 'bonjour').join(' ');
  const odd = call('fr', 0, `out ${often}`, 'out bonjour madame', "in ŉ l\u02BCété \\ ' '' résumé \u0301");
  await index(odd);
  await load({ ...odd, revision: 2 });
  await expectFound({ '"madame bonjour"': [] });
  for (const apostrophe of "'’‘‛′＇∖﹨＼")
    for (const text of [`résumé l${apostrophe}été`, `"madame bonjour" or "l${apostrophe}ʼété résumé"`])
      expect(await find(text), apostrophe).toEqual(['fr']);
  for (const text of ['bonjour madame', "resume ŉ \u02BC ' \\", 'le la or resume', 'le la or "et resume" or bonjour'])
    expect(await find(text), text).toEqual(['fr']);
  for (const text of ['-seul', 'le la']) await expect(find(text)).rejects.toMatchObject({ code: 'USAGE_SEARCH' });
});

test('a compound is found as its words stand, outside phrases too', async () => {
  await index(
    call('fr-a', 0, 'out contrat', 'out mon porte-monnaie'),
    call('fr-b', 1, 'out contrat', 'out une porte', 'out ma monnaie'),
    call('fr-c', 2, 'out contrat', 'out porte-de-monnaie', 'out pomme de terre'),
    call('fr-d', 3, 'out contrat', 'out terre, pomme'),
  );
  await expectFound({
    'porte-monnaie': ['fr-a'],
    'contrat -porte-monnaie': ['fr-d', 'fr-c', 'fr-b'],
    'porte-de-monnaie or pomme-de-terre': ['fr-c'],
  });
});

test('the utterances that are shown are those that have what was asked for, however many there are', async () => {
  const many = Array.from({ length: 300 }, (_, at) => `out phrase numéro ${at}`);
  await index(call('fr-1', 0, ...many, 'out chat blanc', 'out chat noir', 'out un chat', 'in chat noir'));
  const shown = async (text: string) =>
    (await search({ text, side: 'out', limit: 20 })).calls[0]?.hits.map((hit) => hit.utteranceIndex);
  expect(await shown('"chat noir"')).toEqual([301]);
  expect(await shown('chat noir')).toEqual([300, 301, 302]);
  expect(await shown('"numéro 7" or "chat blanc"')).toEqual([7, 300]);
  // Stop words reach further than the space between two utterances.
  expect(await shown('"blanc de la de la chat"')).toBeUndefined();
});

test('random words, phrases, excluded phrases and alternatives find what a reader finds, stop words too', async () => {
  const random = createRandom(11);
  const random30 = makeSayings(random, 30);
  const asSaid = random30.map(({ says, ...one }, minute) => ({
    ...{ ...one, minute, says: says.map(([side, words]) => [side, words.join(' ')] as const) },
  }));
  await index(...asSaid);
  const truth = await createTruth(admin, random30);
  let found = 0;
  for (let asked = 0; asked < 30; asked += 1) {
    const question = makeQuestion(random);
    const text = writeQuestion(question);
    const wanted = truth.find(question);
    const { calls } = await search({ text, limit: 100 });
    const newestFirst = [...wanted.keys()].sort().reverse();
    const ids = calls.map(({ callId }) => callId);
    expect(ids, text).toEqual(newestFirst);
    expect(await find(text, { limit: 3 }), text).toEqual(newestFirst.slice(0, 3));
    for (const { callId, hits } of calls) {
      const isWrong = (hit: SearchHit) => !wanted.get(callId)?.has(hit.utteranceIndex) || hit.highlights.length === 0;
      expect([hits.length > 0, hits.filter(isWrong)], `${text} in ${callId}`).toEqual([true, []]);
    }
    found += calls.length;
  }
  expect(found).toBeGreaterThan(30);
});

test('beyond the newest rows: by the index, by a walk, in another language, and as many as were asked for', async () => {
  // Newest last. One side says "mot" in 40 of 100 newer calls, both sides in every tenth of the older ones. A walk that
  // trusts the newest calls finds too few at first.
  await admin.query(`INSERT INTO calls.calls (call_id, call_timestamp, lang, utterance_count, word_count, tag_count, ledger_epoch, revision, flatten_version, load_id)
    SELECT 'c' || lpad(n::text, 4, '0'), timestamptz '2026-01-01' + n * interval '1 minute', CASE WHEN n % 50 = 49 THEN 'en' ELSE 'fr' END, 2, 0, 0, 1, 1, 1, 'x'
      FROM generate_series(1, 1530) n`);
  await admin.query(`INSERT INTO calls.utterances (call_id, call_timestamp, utterance_index, side, content, word_count)
    SELECT c.call_id, c.call_timestamp, side, CASE side WHEN 0 THEN 'out' ELSE 'in' END,
           'bonjour' || CASE WHEN n > 1320 AND side = 0 AND n % 100 < 40 OR n <= 1320 AND n % 10 = 1 THEN ' mot' ELSE '' END
                     || CASE WHEN n IN (3, 40, 50) THEN ' rare oiseau' WHEN n % 4 = 0 THEN ' oiseau rare' ELSE '' END, 0
      FROM calls.calls c CROSS JOIN LATERAL (SELECT substr(c.call_id, 2)::int AS n) t CROSS JOIN generate_series(0, 1) side`);
  await warehouse.search.create();
  expect(await find('"rare oiseau"')).toEqual(['c0050', 'c0040', 'c0003']);
  const earlier = { side: 'in', to: Date.parse('2026-01-01T00:45:00Z') * 1000 } as const;
  expect(await find('"rare oiseau"', earlier)).toEqual(['c0040', 'c0003']);
  expect(await find('introuvable')).toEqual([]);
  const said = Array.from({ length: 1530 }, (_, at) => 1530 - at)
    .filter((n) => (n > 1320 ? n % 100 < 40 : n % 10 === 1))
    .map((n) => `c${String(n).padStart(4, '0')}`);
  for (const limit of [5, 100, 150, 1_000])
    expect(await find('mot', { limit }), String(limit)).toEqual(said.slice(0, limit));
  expect((await search({ text: 'mot', limit: 100 })).more).toBe(true);
});

const says = (callId: string, said: string, revision = 1): Spoken => ({ callId, revision, says: [['out', said]] });
const erasure = (callId: string) => makeBatch({ tombstones: [makeTombstone(callId, 9, [])] });

test('loads keep the index: new, changed, erased and removed calls, and rows deleted by hand', async () => {
  await index(says('a', 'bonjour'), says('b', 'bonjour'));
  await load(says('c', 'bonjour'), { callId: 'a', revision: 2, says: [['in', 'au revoir']] }, says('d', 'bonjour'));
  await expectFound({ bonjour: ['b', 'c', 'd'], revoir: ['a'] });
  await warehouse.load(erasure('b'));
  await expectFound({ bonjour: ['c', 'd'] });
  await warehouse.proof.removeCalls(await collect(warehouse.proof.listGuards({ callIds: ['d'] })));
  await admin.query(`BEGIN; DELETE FROM calls.utterances WHERE call_id = 'c'; ROLLBACK`);
  await expectFound({ bonjour: ['c'] });
  await expectFresh();
  await admin.query(`DELETE FROM calls.utterances WHERE call_id = 'c'`);
  await expectFound({ bonjour: [] });
});

test('an index that is absent, unfinished, different or unkept is noticed and made again', async () => {
  const owned = `SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass AND refobjid = 'calls'::regnamespace`;
  const before = (await admin.query(owned)).rows;
  await load(says('a', 'bonjour'));
  expect(await warehouse.search.status()).toMatchObject({ state: 'absent' });
  await expect(find('bonjour')).rejects.toMatchObject({ code: 'SEARCH_INDEX_MISSING' });
  await warehouse.search.create();
  expect(await warehouse.search.status()).toMatchObject({ state: 'ready', calls: 1 });
  const harms = [
    'DROP INDEX calls.transcript_search_document',
    "COMMENT ON TABLE calls.transcript_search IS 'Search index of callsync, definition 6.'; UPDATE calls.transcript_search SET document = ''",
    "ALTER TABLE calls.utterances DISABLE TRIGGER transcript_search_insert; UPDATE calls.transcript_search SET document = ''",
    "DROP TRIGGER transcript_search_delete ON calls.utterances; UPDATE calls.transcript_search SET document = ''",
  ];
  for (const harm of harms) {
    await admin.query(harm);
    expect(await warehouse.search.status(), harm).toMatchObject({ state: 'building' });
    await expect(find('bonjour')).rejects.toMatchObject({ code: 'SEARCH_INDEX_MISSING' });
    await warehouse.search.create();
    expect(await find('bonjour'), harm).toEqual(['a']);
  }
  await warehouse.search.drop();
  expect(await warehouse.search.status()).toMatchObject({ state: 'absent' });
  expect((await admin.query(owned)).rows).toEqual(before);
});

const begin = async () => {
  const client = await connect(database.url);
  await client.query('BEGIN');
  return { client, commit: () => client.query('COMMIT').finally(() => client.end()) };
};
/** A load that is open until it is told to end, of a process that makes no documents after it. */
const beginLoad = async (...calls: readonly Spoken[]) => {
  const { client, commit } = await begin();
  await createLoader(config)(client as unknown as pg.PoolClient, makeBatch({ calls: calls.map(spoken) }));
  return { client, commit };
};
const loadOnly = async (...calls: readonly Spoken[]) => (await beginLoad(...calls)).commit();

const held = async (client: pg.Client = admin) => {
  const { rows } = await client.query<{ indexed: string[]; pending: string[] }>(
    `SELECT ARRAY(SELECT DISTINCT call_id FROM calls.transcript_search WHERE document IS NOT NULL ORDER BY 1) AS indexed,
            ARRAY(SELECT DISTINCT call_id FROM calls.transcript_search WHERE document IS NULL ORDER BY 1) AS pending`,
  );
  return rows[0];
};
const isWaiting = async (): Promise<boolean> =>
  (await admin.query(`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
    .rowCount === 1;

test('a load makes no documents in its transaction; worker, next worker and search make them', async () => {
  await warehouse.search.create();
  const load = await beginLoad(says('a', 'bonjour'), says('b', 'bonjour'), { callId: 'silent', says: [] });
  expect(await held(load.client)).toEqual({ indexed: [], pending: ['a', 'b'] });
  await load.commit();
  expect(await warehouse.search.status()).toMatchObject({ state: 'ready', calls: 0, pending: 2 });
  expect(await find('bonjour')).toEqual(['a', 'b']);
  expect(await held()).toEqual({ indexed: ['a', 'b'], pending: [] });
  await loadOnly({ callId: 'a', revision: 2, says: [] }, says('b', 'salut', 2));
  expect(await held()).toEqual({ indexed: [], pending: ['b'] });
  await warehouse.migrate();
  await expect.poll(held).toEqual({ indexed: ['b'], pending: [] });
  await warehouse.load(makeBatch({ calls: Array.from({ length: 250 }, (_, at) => spoken(says(`c${at}`, 'ciao'))) }));
  await expect.poll(async () => (await held())?.pending).toEqual([]);
  expect((await held())?.indexed).toHaveLength(251);
});

/** Each with the calls that say `salut` after it; `bonjour` says only the other one. */
const changes: Readonly<Record<string, readonly [() => Promise<unknown>, readonly string[]]>> = {
  'a reload': [() => load(says('x', 'salut', 2)), ['x']],
  'an erasure': [() => warehouse.load(erasure('x')), []],
  'a deletion by hand': [() => admin.query(`DELETE FROM calls.utterances WHERE call_id = 'x'`), []],
};

test.each(Object.entries(changes))('%s while documents are made takes them away', async (_, [change, salut]) => {
  await warehouse.search.create();
  await loadOnly(says('x', 'bonjour'), says('y', 'bonjour'));
  const { client, commit } = await begin();
  await client.query(`SELECT calls.transcript_search_fill('', 100)`);
  // Others pass these rows over.
  const filling = warehouse.query(`SELECT calls.transcript_search_fill('', 100) AS last`);
  expect(await filling.catch(() => [{ last: null }])).toEqual([{ last: null }]);
  const changing = change();
  await commit();
  await changing;
  expect(await find('bonjour')).toEqual(['y']);
  expect(await find('salut')).toEqual(salut);
  expect(await held()).toEqual({ indexed: [...salut, 'y'], pending: [] });
});

test('an index made during an erasure holds nothing of the erased call; two makers share it', async () => {
  await load(says('x', 'bonjour'), says('y', 'bonjour'));
  const { client, commit } = await begin();
  await client.query(`SELECT FROM calls.calls WHERE call_id = 'x' FOR UPDATE`);
  let waiting = 0;
  const creating = Promise.all([1, 2].map(() => warehouse.search.create({ onWait: () => (waiting += 1) })));
  await expect.poll(isWaiting).toBe(true);
  await createLoader(config)(client as unknown as pg.PoolClient, erasure('x'));
  await commit();
  await creating;
  expect(waiting).toBe(1);
  expect(await held()).toEqual({ indexed: ['y'], pending: [] });
});

test('of a transcript of more words than a document may hold, only the beginning is found', async () => {
  const word = (at: number) => `m${at.toString(36).padStart(12, 'x')}`;
  await warehouse.search.create();
  await load(says('long', Array.from({ length: 90_000 }, (_, at) => word(at)).join(' ')), says('y', 'bonjour'));
  expect(await find(word(3))).toEqual(['long']);
  expect(await find(word(89_000))).toEqual([]);
  expect(await find('bonjour')).toEqual(['y']);
});

test('readers search what has documents, and are told of the rest and of the rights that they lack', async () => {
  await warehouse.search.create();
  await load(says('a', 'bonjour'));
  await find('bonjour');
  await loadOnly(says('b', 'bonjour'));
  const rightsOf = (role: string) =>
    `GRANT USAGE ON SCHEMA calls TO ${role}; GRANT SELECT ON calls.transcript_search TO ${role}`;
  const { role, url } = await roleForTest(database, rightsOf);
  const seek = (url: string) => open({ url }).search.find({ text: 'bonjour', limit: 20 });
  const lacking = / DATABASE_PERMISSION: .*callsync grants .* schema calls, SELECT on all its tables/;
  expect(await refusal(seek(url))).toMatch(lacking);
  await admin.query(
    `GRANT SELECT ON ALL TABLES IN SCHEMA calls TO ${role}; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA calls TO ${role}`,
  );
  for (const one of [url, `${database.url}?options=-c%20default_transaction_read_only%3Don`])
    expect(await seek(one), one).toMatchObject({ calls: [{ callId: 'a' }], pending: 1 });
  expect(await find('bonjour')).toEqual(['a', 'b']);
});
