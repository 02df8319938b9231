/** Invented personal values of every structured kind, and calls that hold them wherever a call can. */
import isLuhn from 'fast-luhn';

const luhn = (digits: string): string => digits + [...'0123456789'].find((check) => isLuhn(digits + check));
const mod97 = (digits: string): number => [...digits].reduce((rest, digit) => (rest * 10 + Number(digit)) % 97, 0);
export const padded = (value: number, length: number): string => String(value).padStart(length, '0');

/** Every value of a person holds this number, which no other person has. */
export const serialOf = (index: number): string => padded((10_007 * (index + 1)) % 100_000_000, 8);

/** Values of one person, none of which is part of another's. */
export const personOf = (index: number) => {
  const serial = serialOf(index);
  const account = `30006000${serial}00000`;
  const bban = `${account}${padded(97 - mod97(`${account}00`), 2)}`;
  const nir = `1850578${padded(100 + index, 6)}`;
  return {
    phone: `06${serial}`,
    card: luhn(`4970100${serial}`),
    iban: `FR${padded(98 - mod97(`${bban}152700`), 2)}${bban}`,
    email: `person${serial}@example.fr`,
    nir: `${nir}${padded(97 - mod97(nir), 2)}`,
  };
};
export const groups = (text: string, size = 2): string => (text.match(new RegExp(`.{1,${size}}`, 'g')) ?? []).join(' ');
export const utteranceOf = (from: string, content: string) => ({
  from,
  content,
  words: content.split(' ').map((value, index) => ({ value, start: index, length: 1, score: 1 })),
});

export const recordOf = (callId: string, index: number) => {
  const { phone, card, iban, email, nir } = personOf(index);
  return {
    unique_id: callId,
    timestamp: '2025-03-01T10:00:00Z',
    in: { label: null, data: `33${phone.slice(1)}`, type: 'PHONE' },
    metadata: {
      ANI: `+33${phone.slice(1)}`,
      Zusatz: `Karte ${groups(card, 4)}`,
      Memo: `rappeler ${groups(phone, 2)}`,
      [email]: nir,
    },
    extra_unnamed: [{ deep: { konto: iban, number: Number(`33${phone.slice(1)}`) } }],
    tracking_info: { mail: email },
    transcript_json: {
      callData: [
        utteranceOf('in', `alors le ${groups(phone, 2).slice(0, 5)}`),
        utteranceOf('out', 'oui'),
        utteranceOf('in', `${groups(phone, 2).slice(6)} et la carte ${groups(card, 4)}`),
        utteranceOf('in', `le compte ${groups(iban, 4)} et ma sécu ${nir} mail ${email}`),
      ],
      callUniqueId: '',
      meta: { lang: 'fr' },
    },
  };
};

/** Separators of any kind aside. */
export const squeeze = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9\n]/g, '');

/** The pattern of a search: a number is the same with and without its trunk prefix. */
export const valuesOf = (index: number): readonly string[] =>
  Object.values(personOf(index)).map((value) => squeeze(value).replace(/^06/, '6'));
