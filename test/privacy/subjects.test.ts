/** No text hides what is named behind it, and none takes longer than its length accounts for. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { textSubject } from '../../src/calls/subject-text.ts';
import { listSubjects } from '../../src/privacy/subjects.ts';

const subjectsOf = (text: string) => listSubjects(text, ['FR']);

test.each([
  ['an empty text', { a: '' }],
  ['many of them', { a: ['', '', '', { '': '' }] }],
  ['a long text', { a: 'x'.repeat(1_025) }],
  ['a very long text, of escapes', { a: '"\\'.repeat(50_000) }],
])('%s hides no name behind it', (_, before) => {
  for (const text of [
    JSON.stringify({ ...before, unique_id: 'call-123' }),
    `${JSON.stringify([before, 'call-123'])}{"cut`,
  ]) {
    const subjects = subjectsOf(text);
    expect(subjects).toContain('call-123');
    expect(subjects).toContain(textSubject('call-123'));
  }
});

/** Every string of a value, names of fields among them, but for empty ones. */
const stringsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return value === '' ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    ...(Array.isArray(value) ? [] : stringsOf(name)),
    ...stringsOf(inner),
  ]);
};

const text = fc.string({ unit: fc.constantFrom('a', ',', ':', '"', '\\', '\n', 'é', '{', '}'), maxLength: 6 });
const json = fc.jsonValue({ stringUnit: text, maxDepth: 3 });
const only = (strings: readonly string[]) => new Set(strings.flatMap((value) => [value, textSubject(value)]));

test('of JSON the subjects are its strings and no other text', () => {
  fc.assert(
    fc.property(json, (value) => {
      const subjects = [...subjectsOf(JSON.stringify(value))].filter((subject) => !subject.startsWith('phone'));
      expect(new Set(subjects)).toEqual(only(stringsOf(value)));
    }),
  );
});

test('in a text that is cut off, or from which any quote is gone, each other string is a subject as before', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 9 }), fc.nat(), fc.nat(), (values, at, length) => {
      const written = values.map((value) => JSON.stringify(value));
      const broken = written.map((one, index) => (index === at % values.length ? one.slice(0, -1) : one)).join(',');
      const others = values.filter((value, index) => value !== '' && index !== at % values.length);
      expect([...subjectsOf(`[${broken}`)]).toEqual(expect.arrayContaining(others));
      const whole = `[${written.join(',')}]`;
      const cut = whole.slice(0, length % whole.length);
      const left = values.filter(
        (value, index) => value !== '' && `[${written.slice(0, index + 1).join(',')}`.length <= cut.length,
      );
      expect([...subjectsOf(cut)]).toEqual(expect.arrayContaining(left));
    }),
  );
});

test('a number in place of the id is a subject', () => {
  expect(subjectsOf('{"unique_id": 12345678,"a":17}')).toContain('12345678');
  expect(subjectsOf('{"unique_id":17.5}')).not.toContain('17');
});

test.each([
  ['quotes behind backslashes', '"\\'.repeat(300_000)],
  ['an unclosed text', `"${'x'.repeat(2_000_000)}`],
  ['backslashes', `"${'\\'.repeat(1_000_000)}`],
  ['blanks behind the name of the id', `"unique_id"${' '.repeat(1_000_000)}`.repeat(2)],
])('of %s there are few subjects, and they are listed at once', (_, hostile) => {
  const from = performance.now();
  expect(subjectsOf(hostile).size).toBeLessThan(10);
  expect(performance.now() - from).toBeLessThan(1_000);
});
