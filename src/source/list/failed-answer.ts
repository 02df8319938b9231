/** Answers 200 that tell in their document of an error, or of records that are left out. */
import { isEmpty } from './observe.ts';

/** Values of an error's field where there is none. */
const nothing = '(0+|false|no|none|null|(e_)?ok|succe(ss(ful(ly)?)?|eded)[^a-z]*|no.?errors?)$';
const isNothing = new RegExp(`^${nothing}`, 'i');
/** Fields, without case and signs, with values that fail, also beside records. */
const failures = [
  /^(is)?(success(ful)?|succeeded|ok)=false$/,
  /^(is)?(incomplete|partial|timedout)(data|records|results?)?=true$/,
  /^(status|(status|result)?code|result)=((?!404)[45]\d\d|fail.*|pending|processing|queued|.*time(d_)?out)$/,
  new RegExp(`^(status|(status|result)?code|result)=(?!${nothing})(e_.*|.*error)$`),
  new RegExp(`^(errors?|exception|fault)=(?!${nothing})`),
];
/** Fields of sentences. Then the beginning of one that says that there is nothing, and words by which one refuses. */
const sentence = '(error|status|response)?(message|msg|text|details?|description|reason(phrase)?|warnings?|info)s?';
const noCalls =
  '(there (is|are|were) )?(no|not any|0|zero) ([a-z]+ )?(calls?|conversations?|data|items?|records?|results?)\\b(?!.*(tim(ed?)? ?out|limit|unavailable))';
const refusals =
  '(rate.?limit( was| is| has been)? (exceeded|reached|hit)|throttled|quota( was| is| has been)? exceeded|too many requests|(retry|again) (later|after|in)|((temporarily|currently|service)( is)?( temporarily| currently)? (un|not )available)|no healthy upstream|timed? ?out|overload|(under|in|for) maintenance|being (restored|prepared|loaded)(?! on request))';
/** Where no records are: also an error with a number of the service's own, or no answer yet. */
const emptyFailures = [
  ...failures,
  /^(status|code)=(202|-\d+|(?!0+$|10+$|20)\d{4,6})$/,
  new RegExp(`^err(or)?(code|no|type)=(?!200$|${nothing})`),
  new RegExp(`^${sentence}=(?!${noCalls}).*\\b${refusals}`),
];
/** Parts of a document that tell of the answer. */
const aboutAnswer = /^_*(resp(onse)?|result|status)?_?(meta(data)?|header|status|info)?$/i;

/** An object of an error counts where it says one. */
const textOf = (value: unknown): string => {
  if (typeof value !== 'object') return `${value}`;
  const isSaid = (one: unknown): boolean => !isEmpty(one) && (typeof one === 'object' || !isNothing.test(`${one}`));
  return Object.values(Object(value)).some(isSaid) ? 'given' : '0';
};

/** @param count records that came. In a part, numbers may also count records, and lists name other things. */
export const saysFailed = (envelope: unknown, status: number, count: number): boolean => {
  const fields = Object.entries(Object(envelope));
  const inner = fields.flatMap(([name, value]) => (aboutAnswer.test(name) ? Object.entries(Object(value)) : []));
  const telling = inner.filter(
    ([name, one]) =>
      /string|boolean/.test(typeof one) ||
      /^(status|code)$/i.test(name) ||
      (typeof one === 'object' && /^errors?$/i.test(name)),
  );
  const said = [...fields, ...telling, ['status', status] as const].filter(([, value]) => !isEmpty(value));
  const text = said.map(([name, value]) => `${name.replace(/[^a-z]/gi, '')}=${textOf(value)}`.toLowerCase());
  return (count === 0 ? emptyFailures : failures).some((failure) => text.some((one) => failure.test(one)));
};
