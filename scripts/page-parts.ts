/** Tables within pages that are otherwise written by hand, from results that benches and campaigns keep. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DetectorName } from '../src/privacy/finding.ts';
import { languages } from '../src/privacy/languages.ts';

type Cells = readonly (string | number)[];

const renderTable = (head: Cells, rows: readonly Cells[]): string => {
  const line = (cells: Cells): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
};

const counts = ['lost', 'stale', 'duplicated', 'kept'] as const;
type Measured = Readonly<
  Record<(typeof counts)[number] | 'requests' | 'seconds' | 'processorSeconds' | 'megabytes', number>
>;

interface PeerTool {
  readonly tool: string;
  readonly settings: string;
  readonly reports: readonly (Measured & { readonly step: string; readonly said: string })[];
}

/** Of two runs the lowest and the highest figure, where they differ. */
const renderRange = (figures: readonly number[]): string => {
  const rounded = figures.map((figure) => Math.round(figure));
  const [low, high] = [Math.min(...rounded), Math.max(...rounded)];
  return low === high ? String(low) : `${low}–${high}`;
};

const total = (figures: readonly number[]): number => figures.reduce((sum, figure) => sum + figure, 0);

const renderPeers = (root: string): string => {
  const { runs } = JSON.parse(readFileSync(join(root, 'bench/peers/measured.json'), 'utf8')) as {
    readonly runs: readonly { readonly date: string; readonly calls: number; readonly tools: readonly PeerTool[] }[];
  };
  const newest = runs.at(-1)?.tools ?? [];
  const steps = [...new Set(newest.flatMap(({ reports }) => reports.map(({ step }) => step)))];
  const rows = newest.map(({ tool, settings }) => {
    const same = runs.flatMap(({ tools }) => tools.filter((one) => one.tool === tool && one.settings === settings));
    const cells = steps.map((step) => {
      const reports = same.flatMap((one) => one.reports.filter((report) => report.step === step));
      return reports.length === 0
        ? '–'
        : counts.map((count) => renderRange(reports.map((one) => one[count]))).join(' / ');
    });
    const overall = (['requests', 'seconds', 'processorSeconds'] as const).map((name) =>
      renderRange(same.map(({ reports }) => total(reports.map((one) => one[name])))),
    );
    const peak = renderRange(same.map(({ reports }) => Math.max(...reports.map(({ megabytes }) => megabytes))));
    const said = [...new Set(same.flatMap(({ reports }) => reports.map((one) => one.said)))].join(', ');
    return [`${tool}, ${settings}`, ...cells, ...overall, peak, said];
  });
  const dates = runs.map(({ date }) => date).join(' and ');
  return [
    renderTable(['tool', ...steps, 'requests', 'seconds', 'processor seconds', 'MB', 'it said'], rows),
    `${runs[0]?.calls} calls; measured on ${dates}.`,
  ].join('\n\n');
};

type Results = Readonly<
  Record<
    string,
    Readonly<
      Record<
        string,
        { readonly version: string; readonly date: string; readonly cases: Readonly<Record<string, string>> }
      >
    >
  >
>;

const renderNeighbours = (root: string): string => {
  const results = JSON.parse(readFileSync(join(root, 'test/neighbours/results.json'), 'utf8')) as Results;
  const rows = Object.entries(results).flatMap(([part, campaigns]) =>
    Object.entries(campaigns).map(([campaign, { version, date, cases }]) => {
      const passed = Object.values(cases).filter((state) => state === 'pass').length;
      return [part, version, date, `${passed} of ${Object.keys(cases).length} cases pass`, `\`${campaign}\``];
    }),
  );
  return renderTable(['part', 'version', 'date', 'result', 'campaign'], rows);
};

/** The first sentence of each file's head, with its link. */
const renderFindings = (root: string): string =>
  readdirSync(join(root, 'findings'))
    .sort()
    .map((name) => {
      const text = readFileSync(join(root, 'findings', name), 'utf8');
      const head = /^#!.*\n((?:# .*\n)+)/.exec(text)?.[1] ?? '';
      const [sentence = ''] = head
        .replaceAll(/^# /gm, '')
        .replaceAll('\n', ' ')
        .split(/(?<=\.) /);
      const [tool, ...found] = sentence.split(': ');
      return `- [${tool}](../../findings/${name}): ${found.join(': ')}`;
    })
    .join('\n');

interface Detected {
  readonly kind: string;
  readonly whole: number | null;
  readonly precision: number | null;
  readonly erased: number | null;
  readonly presidio: number | null;
}

interface MeasuredPrivacy {
  readonly date: string;
  readonly seed: number;
  readonly kinds: readonly (Detected & { readonly values: number })[];
  readonly harmless: readonly { readonly sort: string; readonly sentences: number; readonly hit: number }[];
  readonly known: Readonly<Record<'records' | 'own' | 'gone' | 'others' | 'touched', number>>;
  readonly usual: string;
  readonly unread: number;
  readonly presidio?: {
    readonly ms: number;
    readonly packages: string;
    readonly harmless: Readonly<Record<string, { readonly sentences: number; readonly hit: number }>>;
  };
}

const detected: Readonly<Record<DetectorName | 'card_wrong', string>> = {
  phone: 'telephone numbers',
  email: 'e-mail addresses',
  iban: 'IBANs',
  account: 'account numbers',
  card: 'payment cards',
  card_wrong: 'payment cards with one digit misheard',
  nir: 'French social security numbers',
  cvv: 'card verification values',
  birth: 'dates of birth',
  expiry: 'expiry dates of cards',
  last4: 'last four digits of cards',
};
const spokenIn = { fr: 'French', GB: 'British English', US: 'US English' };
const figure = (value: number | null | undefined): string => value?.toFixed(1) ?? '–';
const share = (part: number, all: number): number => (100 * part) / all;

const renderDetectors = (root: string): string => {
  const measured = JSON.parse(readFileSync(join(root, 'bench/privacy/measured.json'), 'utf8')) as MeasuredPrivacy;
  const langs = Object.keys(spokenIn);
  const rows = Object.entries(detected).map(([name, what]) => {
    const ofLang = (lang: string) => measured.kinds.find(({ kind }) => kind === `${lang} ${name}`);
    const cells = langs.map((lang) => {
      const one = ofLang(lang);
      return one === undefined ? '–' : [one.whole, one.precision, one.erased, one.presidio].map(figure).join(' / ');
    });
    return [`\`${name.replace(/_.*/, '')}\`: ${what}`, ...cells];
  });
  const { known, presidio } = measured;
  const hits = langs.map((lang) => {
    const own = measured.harmless.find(({ sort }) => sort === `${lang} all`)?.hit;
    const other = presidio?.harmless[lang];
    return `${figure(own)}, presidio ${figure(other && share(other.hit, other.sentences))}`;
  });
  return [
    renderTable(['detector', ...Object.values(spokenIn)], [...rows, ['harmless sentences with a finding, %', ...hits]]),
    [
      `Measured on ${measured.date} with seed ${measured.seed}; ${measured.unread} harmless sentences became \`[unread]\`.`,
      `Of ${known.own} words of names and numbers in ${known.records} invented records, \`transcript.known_values\` replaced`,
      `${figure(share(known.gone, known.own))} %, and ${share(known.touched, known.others).toFixed(2)} % of the other words.`,
      `10 kB of transcript take ${measured.usual}.`,
      presidio === undefined ? '' : `Presidio (${presidio.packages}) takes ${presidio.ms} ms.`,
    ].join(' '),
  ].join('\n\n');
};

const countryNames = new Intl.DisplayNames('en', { type: 'region' });

const renderLanguages = (): string =>
  renderTable(
    ['language', 'numbers as in'],
    languages.map(({ name, countries }) => [
      String(name),
      String(countries)
        .split(' ')
        .map((code) => countryNames.of(code))
        .join(', '),
    ]),
  );

const parts: Readonly<Record<string, (root: string) => string>> = {
  'bench -- peers': renderPeers,
  'bench -- privacy': renderDetectors,
  'campaign -- neighbours': renderNeighbours,
  'the heads of findings': renderFindings,
  'src/privacy/languages': renderLanguages,
};

/** Pages that have such parts: each stands between `<!-- written by NAME -->` and `<!-- end -->`. */
const pages = [
  'docs/explanation/comparison.md',
  'docs/guides/configure-redaction.md',
  'docs/reference/compatibility.md',
];

/** The pages with current parts, by path. */
export const renderPageParts = (root: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    pages.map((page) => [
      page,
      readFileSync(join(root, page), 'utf8').replaceAll(
        /^(<!-- written by (.+) -->)$[\s\S]*?^(<!-- end -->)$/gm,
        (_, begin: string, name: string, end: string) => {
          const part = parts[name];
          if (part === undefined) throw new Error(`${page}: no script writes the part ${name}`);
          return `${begin}\n\n${part(root)}\n\n${end}`;
        },
      ),
    ]),
  );
