/** Invented persons, none of whose values is part of another's, and the calls in which they occur. */

import { groups, padded, serialOf, utteranceOf, personOf as valuesOfPerson } from '../load/planted-values.ts';

export const personOf = (index: number) => ({
  ...valuesOfPerson(index),
  client: `client-${serialOf(index)}-${index}`,
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
    metadata: { ANI: `+33${phone.slice(1)}`, ClientID: client, Memo: `rappeler ${groups(phone)} ou ${email}` },
    transcript_json: {
      callData: [utteranceOf('in', `mon numéro ${groups(phone)}`), utteranceOf('out', `noté ${email} merci`)],
      callUniqueId: '',
      meta: { lang: 'fr' },
    },
  };
};

/** Serial numbers of whatever in a text is a value of some person, however it is written. */
export function* serialsIn(text: string): Generator<string> {
  for (const [, serial = ''] of text.matchAll(/(?:person|client-)(\d{8})/g)) yield serial;
  for (const [found] of text.matchAll(/\d(?:[\s.()/-]{0,3}\d){8,13}/g)) {
    const digits = found.replaceAll(/\D/g, '');
    if (digits.at(-9) === '6') yield digits.slice(-8);
  }
}
