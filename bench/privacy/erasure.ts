/** Whether requests of persons find the calls in which their values were said, after redaction. */
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import { meantBy } from '../../src/persons/request.ts';
import { openSubjects } from '../../src/persons/subjects.ts';
import { type JoinedDetector, joinedDetectors } from '../../src/privacy/finding.ts';
import { createPrivacy } from '../../src/privacy/privacy.ts';
import { countryOf, type Sentence } from './oracle.ts';

/** A person may give a number in each way; French numbers overseas have two codes. */
const waysOf = ({ kind, lang, value }: Sentence): readonly string[] => {
  if (kind !== 'phone' || lang !== 'fr') return [value];
  const overseas = /^\+33(?:26[239]|69[23])/.test(value) ? [value.replace('+33', '+262')] : [];
  return [value, value.replace('+33', '0'), ...overseas];
};

/** False where text2num has written other digits or letters than those that were said: no request can name these. */
const isHeard = ({ kind, form, said, spans, value }: Sentence): boolean => {
  const text = spans.map(([utterance, start, end]) => said[utterance]?.[1].slice(start, end)).join(' ');
  if (!form.endsWith(' recognised') || /\p{L}{2}|[^\p{L}\d ]/u.test(text)) return true;
  const heard = text.replaceAll(' ', '').toUpperCase();
  return kind === 'phone' ? heard.endsWith(value.slice(-9)) : value.startsWith(heard);
};

const openDoor = (lang: Sentence['lang']) => {
  const countries = [countryOf(lang)];
  const config = privacyConfigSchema.parse({ profile: 'pseudonymous', unreadable: 'drop', countries });
  const privacy = createPrivacy(config, { token: Buffer.alloc(32, 7), seal: undefined });
  const { subjectsOf } = openSubjects({ countries, leavesSpeech: () => false });
  return { countries, privacy, subjectsOf };
};

/** Calls by kind, and how many of them every way of a request finds. */
export const scoreErasure = (sentences: readonly Sentence[], tell: (sentence: Sentence) => void) => {
  const doors = new Map<string, ReturnType<typeof openDoor>>();
  const kinds = new Map<string, { calls: number; found: number }>();
  for (const sentence of sentences) {
    const { lang, kind, said } = sentence;
    if (!joinedDetectors.some((name) => name === kind) || !isHeard(sentence)) continue;
    const door = doors.get(lang) ?? openDoor(lang);
    doors.set(lang, door);
    const callData = said.map(([from, content]) => ({ from, content }));
    const { fields } = door.privacy.preview({ unique_id: 'said', transcript_json: { callData } });
    const { all } = door.subjectsOf(fields);
    const isFound = waysOf(sentence).every((value) => {
      const request = { kind: kind as JoinedDetector, values: [value] };
      const { subjects } = meantBy(request, { countries: door.countries, tokensOf: door.privacy.tokensOf });
      return subjects.some((subject) => all.has(subject));
    });
    const entry = kinds.get(`${lang} ${kind}`) ?? { calls: 0, found: 0 };
    kinds.set(`${lang} ${kind}`, { calls: entry.calls + 1, found: entry.found + Number(isFound) });
    if (!isFound) tell(sentence);
  }
  return kinds;
};
