/** The page on personal data: what is stored where, and how requests of persons are answered. */
import { type StoredData, searchTables, storedFiles, storeTables, warehouseTables } from '../../schemas/stored-data.ts';

const table = (title: string, rows: Readonly<Record<string, StoredData>>): string =>
  [
    `### ${title}`,
    '',
    '| where | what | personal | how long |',
    '|---|---|---|---|',
    ...Object.entries(rows).map(
      ([name, { holds, personal, kept }]) => `| ${name} | ${holds} | ${personal} | ${kept} |`,
    ),
    '',
  ].join('\n');

const rules = `## Rules

Section \`privacy\` of the configuration says what happens to each field before anything is stored: at the receiver after the
signature was checked over the raw bytes, and for lists, imports and replays before the ledger. \`profile: none\` (the default)
changes nothing. \`callsync privacy preview\` shows what the rules make of a call.

- \`redact\` replaces what the detectors find in any text: telephone numbers, e-mail addresses, IBANs, payment cards and French
  social security numbers by tokens, card verification values and dates of birth by their names in brackets. In transcripts, text
  and words are replaced alike and timings stay. The first word of a value holds its token, the others \`…\`; where text and
  words of an utterance differ, all of it is replaced. Names of persons are not found. An utterance of so many ambiguous numbers
  that reading them takes too many steps is replaced as a whole by \`[unread]\`.
- \`token\` replaces a whole value by \`ph_<key id>_<hash>\`. The same number has the same token in contacts, metadata and
  transcripts, so joins work without it. Who has the key can try numbers out: keep it away from the store.
- What no rule can read is sealed with the public key of \`privacy.seal_key_file\`. \`callsync quarantine replay --key-file\` reads it
  with the private one, and applies the rules to it.
- Table \`redactions\` of every warehouse says what was replaced in transcripts: call, utterance, first and last word, detector and
  its version, never the value. Without words (null) all of the utterance was replaced, for its text and words differ, or it
  has none. The list travels in the transcript, as its field \`callsync_redactions\`, and goes with it by erasure and
  retention. Of a list that a sender wrote only places of the transcript and known detectors stay; where no rules ever acted
  on a call the field is data like any other, and the table has no rows of it. Patterns that are no longer configured lose
  their rows.
- Rules act on what comes in. \`callsync privacy apply\` applies them to what was stored before, in the ledger, the bodies of deliveries,
  quarantine and, with the next loads, every warehouse. The ledger says of each call under which version of the rules it is:
  calls under the present one are passed over, so that a run which was interrupted goes on, and \`callsync status\` and
  \`callsync doctor\` count the others. A call that comes in again is brought under the present rules as a whole. What was taken does
  not come back under looser rules: they act on new calls and on what is read again, as the log says when a worker starts.

## Keys of tokens

**A new key.** Make one with \`openssl rand -hex 32 > privacy-k2.key\`, and give it to every worker and receiver. Set \`privacy.key_id: k2\`
and \`privacy.key_file\` to it, and add the key before to \`privacy.former_keys\` (\`{ id: k1, file: … }\`). Restart workers first, then
receivers. Stored calls keep the tokens that they have, so the same number has one token for each key: joins across the change find no
match.

While a key is in \`privacy.former_keys\`, erasures, objections, holds and exports also find what is stored under its tokens, and a
delivery that was folded before is still known when it comes again. Without the key, no request finds them any more.
`;

const requests = `## Requests of persons

**Kinds.** A request names call ids (\`--by call\`), telephone numbers (\`phone\`), e-mail addresses (\`email\`), IBANs (\`iban\`), card
numbers (\`card\`), French social security numbers (\`nir\`), or values of a metadata key (\`metadata --key NAME\`). Erasure, access,
objection and legal hold take all of them. callsync finds a value as it was written or said, and the tokens that stand for it.

**Erasure.** \`callsync erase --by phone\` counts the calls that are meant: how many are stored here, were erased before,
or were never seen, such as a mistyped id. The receipt has the same counts. With \`--yes\` it erases them: the documents, the bodies of
their deliveries, what quarantine, rereads and frames hold of them, and their rows in every warehouse with its next load. A call that was
never seen is kept out, should it come. Values are asked for, or read from a file or standard input. The receipt (\`--json\`) names
the values by keyed hashes, says what a search afterwards found and until when platforms keep copies, and is signed:
\`callsync verdicts verify\` checks all of them. A tombstone and the
erasure log keep the call away whatever arrives later or is restored; the log has the receipts too, so that a store which was
restored has them again. A number is found however it is written, in transcripts also as words. Records that cannot be read and
that name an erased call or value are not kept. Sealed records cannot be searched. What needs the values is
done first, by the command: keyed hashes in the log, tombstones, texts; one that is interrupted there is carried to its end by the
next. The rest is a workflow that is started with nothing but a name: it tries until every warehouse has its tombstones, however
long one is away and whatever becomes of the command or a worker, then looks for the person once more, and signs the receipt when nothing
is left; texts that a legal hold keeps, and sealed ones that nobody could read, are counted apart. \`--no-wait\` leaves it, and
\`callsync privacy receipt\` has the receipt later. Its signature is Ed25519: \`callsync privacy public-key\` prints the public key of the
installation, with which anyone checks a receipt (\`callsync privacy check-receipt\`), without a secret. Where no Temporal server answers, the command tries once itself; if something is
left, it signs nothing and ends with exit code 5.

**Finding calls.** Erasures, exports and holds by number or value look up calls, quarantined records and frames in one index: beside each
of them callsync keeps short keyed hashes (8 bytes, under the key of tombstones) of what it names. Of a call these are every value of its
metadata with its key, every token, every number of at least seven digits in each grouping in which text has it, fields that are one
number as a whole, e-mail addresses, IBANs, card and social security numbers that text has, and whatever of these is said; of a record
or frame, every text in quotes, every number and every e-mail address. A number with fewer than seven
digits, and an address in place of a number, match whole values only. Identifiers, times and fractions of a call are no numbers. The index
is made of the call as the rules leave it, so it links nothing that the call does not; of a record, before it is sealed. What the receiver
has sealed has none. Tokens of former keys are looked up too, and those of a key that is no longer configured are not. The index goes
with what it belongs to. Where privacy rules redact transcripts, it is written as calls are folded; elsewhere by the first request or by
\`callsync privacy apply\`, which takes as long as reading the calls. Deliveries in the inbox are merged first; call ids need no index.

**Spools.** Receivers spool deliveries on their own hosts while the store is away, and drain them into the inbox when it answers again;
no erasure reaches into them. What they bring of an erased call is folded to nothing: neither a body nor the id is kept. Calls that
only a spool has, of a person who was erased by number or value, are known once they are merged: run \`callsync erase\` again when
no spool holds a delivery (\`callsync_spool_records\`, or the status page), or use \`--keep-out\`, which keeps those out that name the
person in contacts or metadata. Damaged files stay for \`webhook.spool.damaged_retention\`.

**Objection.** \`callsync erase --keep-out\` keeps out calls of the person that come later too: those that name a value in contacts or
metadata become tombstones when they are met.

**Access.** \`callsync privacy export --by phone\` prints the calls that an erasure would mean, as they are stored: one JSON document
a line. Erased ones are counted and left out. The warehouse's tables hold the same.

**Retention.** \`privacy.retention\` says how long words, transcripts, free fields and whole calls are kept, counted from the call's
own time; maintenance takes what is older from the ledger and, with the next loads, from every warehouse, and what comes in is cut
to the same ages, so that no list, delivery or import brings it back. Of a whole call a tombstone stays. A call without a time has
no age. Verdicts count listed calls of which nothing may be kept by themselves (\`kept_out\`), so that their day stays proven, and
\`callsync coverage\` names them. \`callsync privacy retention --dry-run\` counts. The keys named below say how long everything else is kept.

**Legal hold.** \`callsync privacy hold add --by phone --reason "case 2026-17"\` stops erasure and retention for the calls that are
meant, and for later ones that name a value anywhere. \`callsync erase\` then refuses (\`ERASURE_HELD\`) a request that
means a held call, and says how many; \`--except-held\` erases the others. Of held calls nothing is too old: words, transcripts and free
fields stay, in every warehouse too, and come in whole. A record in quarantine, or a frame, that names something held stays also when a
free call goes that it names; in quarantine it outlasts its time too. Copies in inbox and frames expire as ever, and
\`callsync privacy apply\` acts on held calls too. A hold outlasts a change of the key of tokens while the key before is in
\`privacy.former_keys\`: what comes under the new one is still known. A person who objects and is held stays. What was erased before cannot
be held, and \`hold add\` says so. A step of an erasure or an age that is under way ends first; further ones spare what the hold
names, by what calls and texts name, before it has found them all. Holds are known by keyed hashes, are in the erasure log too, so
that a store which was restored has them again, and putting one on or taking it off is an event with its signed receipt. \`callsync privacy hold list\` has them, \`callsync status\` counts them; after \`callsync privacy hold remove\` erasures
and ages act on what it kept.
`;

export const renderPrivacyPage = (): string =>
  [
    '# Personal data',
    '',
    '<!-- Generated by npm run generate. -->',
    '',
    rules,
    requests,
    '## What is stored where',
    '',
    'Who can read it: the store, everyone with its URL (workers, receivers; receivers have a role that reads no call); warehouses,',
    'everyone who was granted their schema or dataset; files, the user that runs callsync.',
    '',
    table('Operational store (schema `callsync`)', storeTables),
    table('Warehouses', { ...warehouseTables, ...searchTables }),
    table('Files and servers', storedFiles),
  ].join('\n');
