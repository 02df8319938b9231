/** Telephone numbers that a text may hold, for the index of subjects and for requests. */
const fewestDigits = 6;
const mostDigits = 19;
/** Digits with little between them. */
const chain = /\d(?:[\s.()/-]{0,3}\d){5,}/g;

/** Digits of all possible numbers in a text: each sequence of whole groups. */
export function* listDialled(text: string): Generator<string> {
  for (const [found] of text.matchAll(chain)) {
    const groups = found.split(/\D+/);
    for (let from = 0; from < groups.length; from += 1) {
      let digits = '';
      for (let to = from; to < groups.length && digits.length < mostDigits; to += 1) {
        digits += groups[to];
        if (digits.length >= fewestDigits && digits.length <= mostDigits) yield digits;
      }
    }
  }
}
