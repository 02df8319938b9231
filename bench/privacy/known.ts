/**
 * Records that name their contact, and how much of the names and numbers their transcripts keep. A transcript is written
 * as recognisers write it: with capital letters, without, or also without accents and hyphens.
 */
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import { createPrivacy } from '../../src/privacy/privacy.ts';
import { randomStream } from '../../src/simulator/calls/random.ts';
import { makeValue, type Random } from './values.ts';

type Own = Readonly<Record<'first' | 'last' | 'lines' | 'talk', readonly string[]>>;

/** One name in six is also an ordinary word. */
const languages: Readonly<Record<'fr' | 'en', Own>> = {
  fr: {
    first: [
      ...'Camille Thérèse Jean-Pierre Inès Mohamed Loïc Anne-Sophie Béatrice François Zoé Noé Hélène Karim Élodie Maël'.split(
        ' ',
      ),
      ...'Yannick Chloé Amélie Gérard Fatoumata Rose Claire Aimé Victoire Parfait Grace'.split(' '),
    ],
    last: [
      ...'Lefèvre Dupont Martin Benchekroun Nguyen Le-Goff Quatrefages Müller Hernandez Traoré Kowalski Fournier'.split(
        ' ',
      ),
      ...["D'Angelo", 'De La Tour', 'Saint-Martin', 'Ben Salah', "N'Diaye", 'Bénézet', 'Girard', 'Perrin', 'Garnier'],
      ...'Petit Blanc Grand Roux Lebon Bon Page Mars Noël'.split(' '),
    ],
    lines: [
      'bonjour {full} à l’appareil',
      'bonjour monsieur {last}\n> oui',
      'oui bonjour {first}',
      'c’est bien madame {last} ?\n> oui {full}',
      'mon nom est {last} {spelled}',
      '> je suis {full}',
      'au nom de {last} s’il vous plaît',
      'vous êtes {reverse}\n> c’est ça',
      'et votre prénom ?\n> {first}',
      'je m’appelle {first}',
      'très bien monsieur {last} je regarde',
      'merci {first} bonne journée',
      '> mon numéro c’est le {phone fr-pairs}',
      'je vous rappelle au {phone spaced}\n> oui',
      '> c’est le {phone fr-loose 1-3}\nd’accord\n> {phone fr-loose 4-5}',
      '> {phone fr-digits}',
      'votre numéro client est le {client}\n> oui',
      'le dossier de {full} est ouvert',
    ],
    talk: [
      'un petit instant je regarde votre dossier',
      'le grand carton blanc est arrivé en mars',
      'c’est grâce à vous que ça marche, merci bien',
      'la rose du jardin sent bon',
      'la réponse n’est pas très claire pour moi',
      'il fait bon et le vent est petit',
      'vous pouvez aller sur la page du site',
      'c’est parfait on a bien tout noté',
      'le poil roux du chat reste sur le canapé',
      'j’aimerais savoir si ma commande est partie',
      'on ferme entre Noël et le premier janvier',
      'une victoire pour toute l’équipe',
      'ça fait trente-deux euros cinquante pour deux pièces',
      'le rendez-vous est à quinze heures demain',
    ],
  },
  en: {
    first: [
      ...'Priya Oliver Siobhan Mary-Jane Liam Noah Amelia Zachary Imogen Hamish Tamsin Rajesh Eleanor Callum Bethany'.split(
        ' ',
      ),
      ...'Aisha Duncan Harriet Gareth Ngozi Will Mark Grace Rose Hope Bill'.split(' '),
    ],
    last: [
      ...'Campbell Featherstone Patel Hughes Okonkwo Smith-Jones Wojcik Davies Abernathy Gallagher Whitaker'.split(' '),
      ...[
        "O'Connor",
        "D'Souza",
        'Van Dyke',
        'McAllister',
        'Fitzgerald',
        'Jackson',
        'Robertson',
        'Sinclair',
        'Blackwood',
      ],
      ...'Young Rich White Long Price Good Page March Brown'.split(' '),
    ],
    lines: [
      'hello {full} speaking',
      'is this mister {last}\n> mr {last} yes',
      'hi {first} how are you',
      'my name is {full}',
      '> this is {first} again',
      'the surname is {last} {spelled}',
      'am I speaking to {full}\n> yes',
      'I have it under {reverse}',
      'and your first name ?\n> {first}',
      'thank you mrs {last} one moment',
      'thanks {first} goodbye',
      "that is {last}'s account\n> right",
      '> my number is {phone-gb en-digits}',
      'shall I call {phone-gb spaced}\n> please',
      '> {phone-gb en-double 1-1}\nokay\n> {phone-gb en-double 2-2}',
      'your client number is {client}\n> yes',
      'the file of {full} is open',
    ],
    talk: [
      'I will call you back as soon as I can',
      'mark my words it rose again in march',
      'what is the price of the long white one',
      'I hope it is good news for the young',
      'the bill came to thirty two pounds fifty',
      'the rich brown sauce is on the second page',
      'we are closed for a long weekend',
      'it was good of you to wait',
      'will that be all then',
      'by the grace of the weather it went well',
      'please go to the page and read it',
      'the appointment is at three tomorrow',
    ],
  },
};

interface Word {
  readonly text: string;
  /** Of the contact's name or numbers. */
  readonly isOwn: boolean;
}

const written: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toLowerCase(),
  (text) => text.toLowerCase().replaceAll('-', ' ').normalize('NFD').replaceAll(/\p{M}/gu, ''),
];

const drawRecord = (random: Random) => {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const lang = pick(['fr', 'en'] as const);
  const { first, last, lines, talk } = languages[lang];
  const [given, family] = [pick(first), pick(last).replace('Le-', 'Le ')];
  const kind = lang === 'fr' ? 'phone' : 'phone-gb';
  const say = (makeValue[kind] as NonNullable<(typeof makeValue)[string]>)(random);
  const client = String(10_000_000 + Math.floor(random() * 89_999_999));
  const spelled = [...family.replaceAll(/[^\p{L}]/gu, '')].join(' ');
  const names = { full: `${given} ${family}`, reverse: `${family} ${given}`, first: given, last: family, spelled };
  const write = pick(written);
  const said = Array.from({ length: 16 }, (_, at) => pick(at % 2 === 0 ? lines : talk)).flatMap((line) =>
    line.split('\n').map((own): { from: string; words: Word[] } => {
      const parts = own.replace(/^> /, '').split(/(\{[^}]+\})/);
      const words = parts.flatMap((part) => {
        const [, name = '', style = '', from, to] = /^\{([a-z-]+)(?: ([a-z-]+)(?: (\d)-(\d))?)?\}$/.exec(part) ?? [];
        const group = from === undefined ? undefined : ([Number(from), Number(to)] as const);
        const text =
          name === '' ? part : name === 'client' ? client : style === '' ? names[name as 'full'] : say(style, group);
        return write(text)
          .split(' ')
          .filter(Boolean)
          .map((word) => ({ text: word, isOwn: name !== '' }));
      });
      return { from: own.startsWith('> ') ? 'in' : 'out', words: joinPossessives(words) };
    }),
  );
  const label = pick([names.full, names.reverse, `${family.toUpperCase()} ${given}`]);
  const record = {
    unique_id: 'known',
    in: { label, data: say('plain'), type: 'PHONE' },
    metadata: { ClientID: client, Dept: pick(['sales', 'service']) },
    transcript_json: {
      callData: said.map(({ from, words }) => ({
        from,
        content: words.map(({ text }) => text).join(' '),
        words: words.map(({ text }) => ({ value: text })),
      })),
    },
  };
  return { record, said, lang };
};

/** "'s" stands at its name. */
const joinPossessives = (words: readonly Word[]): Word[] => {
  const joined: Word[] = [];
  for (const word of words) {
    const before = joined.at(-1);
    if (before !== undefined && /^['’]s$/.test(word.text))
      joined[joined.length - 1] = { ...before, text: `${before.text}${word.text}` };
    else joined.push(word);
  }
  return joined;
};

/** @param count of records. @param tell of words that stayed or went wrongly. */
export const scoreKnown = (seed: number, count: number, tell: (what: string, content: string) => void) => {
  const random = randomStream(seed);
  const score = { records: count, own: 0, gone: 0, others: 0, touched: 0 };
  const privacyFor = (country: string) =>
    createPrivacy(
      privacyConfigSchema.parse({
        rules: [
          { path: 'transcript.known_values', action: 'redact' },
          { path: 'metadata.ClientID', action: 'token' },
        ],
        countries: [country],
        unreadable: 'drop',
      }),
      { token: Buffer.alloc(32, 7), seal: undefined },
    );
  const rules = { fr: privacyFor('FR'), en: privacyFor('GB') };
  for (let index = 0; index < count; index += 1) {
    const { record, said, lang } = drawRecord(random);
    const { fields } = rules[lang].preview(record);
    const { callData } = fields.transcript_json as typeof record.transcript_json;
    for (const [at, { words }] of said.entries())
      for (const [place, { text, isOwn }] of words.entries()) {
        const isGone = callData[at]?.words[place]?.value !== text;
        score[isOwn ? 'own' : 'others'] += 1;
        if (isGone) score[isOwn ? 'gone' : 'touched'] += 1;
        if (isGone !== isOwn)
          tell(
            `${isOwn ? 'stayed' : 'touched'} ${text} of ${record.in.label}`,
            record.transcript_json.callData[at]?.content ?? '',
          );
      }
  }
  return score;
};
