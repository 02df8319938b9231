/** Invented persons, none of whose values is part of another's, and the calls in which they occur. */

const padded = (value: number, length: number): string => String(value).padStart(length, '0');

export const personOf = (index: number) => {
  const serial = serialOf(index);
  return { phone: `06${serial}`, client: `client-${serial}-${index}`, email: `person${serial}@example.fr` };
};

export const inGroups = (text: string, size = 2): string =>
  (text.match(new RegExp(`.{1,${size}}`, 'g')) ?? []).join(' ');

const utteranceOf = (from: string, content: string) => ({
  from,
  content,
  words: content.split(' ').map((value, index) => ({ value, start: index, length: 0.5, score: 0.9 })),
});

export const callsPerPerson = 3;
export const callIdOf = (person: number, call: number): string => `call-${padded(person, 5)}-${call}`;

/** @param round changes what is said, so that bodies differ. */
export const recordOf = (index: number, call: number, round: number): Record<string, unknown> => {
  const { phone, client, email } = personOf(index);
  return {
    unique_id: callIdOf(index, call),
    timestamp: new Date(Date.UTC(2025, 2, 1 + (index % 5), 10)).toISOString(),
    qualified: new Date(Date.UTC(2025, 2, 1 + (index % 5), 10, 1)).toISOString(),
    status: `round-${round}`,
    in: { label: null, data: `33${phone.slice(1)}`, type: 'PHONE' },
    metadata: { ANI: `+33${phone.slice(1)}`, ClientID: client, Memo: `rappeler ${inGroups(phone)} ou ${email}` },
    transcript_json: {
      callData: [utteranceOf('in', `mon numéro ${inGroups(phone)}`), utteranceOf('out', `noté ${email} merci`)],
      callUniqueId: '',
      meta: { lang: 'fr' },
    },
  };
};

/** Every value of a person holds this number, which no other person has. */
export const serialOf = (index: number): string => padded((10_007 * (index + 1)) % 100_000_000, 8);

/** Serial numbers of whatever in a text is a value of some person, however it is written. */
export function* serialsIn(text: string): Generator<string> {
  for (const [, serial = ''] of text.matchAll(/(?:person|client-)(\d{8})/g)) yield serial;
  for (const [found] of text.matchAll(/\d(?:[\s.()/-]{0,3}\d){8,13}/g)) {
    const digits = found.replaceAll(/\D/g, '');
    if (digits.at(-9) === '6') yield digits.slice(-8);
  }
}
