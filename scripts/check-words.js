/**
 * Checks the words of docs and comments by the rules of CONTRIBUTING that a program can check, and counts those of the docs.
 * `node scripts/check-words.js` prints a line for each finding and ends with 1 if there is one.
 */
import { readdirSync, readFileSync } from 'node:fs';

const maxWords = 25;
const maxDocs = 12_000;
/** Characters of a test's title, so that it stays on one line of a report. */
const maxTitle = 100;

/** Terms that the glossary replaces. */
const avoided = [
  [/\b(doubled|twofold)\b/i, 'duplicate'],
  [/\bwhoever\b/i, 'anyone'],
  [/\b(gives?|given) up records\b/i, 'discard'],
  [/\b(be|is|are) had back\b/i, 'recover'],
  [/\bheard of no more\b/i, 'abandoned'],
  [/\bfor good\b/i, 'permanently'],
  [/\bstaging area|landing table\b/i, 'staging table'],
  [/\bdead[- ]letter/i, 'quarantine'],
  [/\bhigh[- ]water mark/i, 'watermark'],
  [/\bdata[- ]subject/i, 'person'],
  [/\bis (un)?believed|not believed\b/i, 'accept'],
  [/\bproof run\b/i, 'reconcile'],
  [/\boperational (database|store)\b/i, 'store'],
  [/\bPostgres\b/, 'PostgreSQL'],
];

/** Names from before the first release; code spans count too. */
const oldName =
  /\b(kept_out|missing_since|carryOnErasure|buryCalls|withoutDeletions|WAREHOUSE_ELSEWHERE|TAP_[A-Z]+)\b|--keep-out|operations\.actors|callsync tap\b|list\.axes\b|sync\.overlap\b/;

const filesOf = (folder, ending) =>
  readdirSync(folder, { recursive: true })
    .filter((name) => ending.test(name))
    .map((name) => `${folder}/${name}`);

/**
 * Generated pages hold every help text, error, hint, and description of a key, metric, table or mart. The checker does
 * not count their words.
 */
const written = (path) =>
  !/CHANGELOG|DECISIONLOG|^docs\/reference\/(cli|config|errors|exit-codes|metrics|tables|marts|cookbook|data-inventory|sizing)\.md$/.test(
    path,
  );

/** Units of prose with their first line: paragraphs, list items, cells. */
const readPage = (text) => {
  const blocks = [];
  let fence = false;
  let front = false;
  let generated = false;
  let open;
  const add = (line, words) => blocks.push({ line, text: words, generated });
  text.split('\n').forEach((raw, index) => {
    const line = raw.trim();
    if (line.startsWith('<!-- written by ')) generated = true;
    else if (line === '<!-- end -->') generated = false;
    if (index === 0 && line === '---') front = true;
    else if (front) {
      if (line === '---') front = false;
      return;
    }
    if (line.startsWith('```')) {
      fence = !fence;
      open = undefined;
      return;
    }
    if (fence || /^ {4,}\S/.test(raw) || line === '' || line.startsWith('<!--') || line.startsWith('![')) {
      open = undefined;
      return;
    }
    if (line.startsWith('|')) {
      open = undefined;
      if (!/^\|[-| ]+\|$/.test(line))
        for (const cell of line.slice(1, -1).split(/(?<!\\)\|/)) add(index + 1, cell.trim());
      return;
    }
    const item = /^(#+|[-*]|\d+\.|>) +(.*)$/.exec(line);
    if (item !== null || open === undefined) {
      open = { line: index + 1, text: item?.[2] ?? line, generated };
      blocks.push(open);
      if (item?.[1].startsWith('#')) open = undefined;
    } else open.text += ` ${line}`;
  });
  return blocks;
};

/** Comments with their first line; tags of a docstring begin anew. */
const readComments = (text) => {
  const blocks = [];
  let open;
  let inside = false;
  text.split('\n').forEach((raw, index) => {
    const line = raw.trim();
    const starts = line.startsWith('/**') || line.startsWith('/*');
    const isLine = line.startsWith('// ');
    if (!inside && !starts && !isLine) {
      open = undefined;
      return;
    }
    if (starts) {
      inside = true;
      open = undefined;
    }
    const words = line
      .replace(/^\/\*\*?|^\/\/|^\*(?!\/)/, '')
      .replace(/\*\/$/, '')
      .trim();
    if (/^(biome-ignore|@ts-|oxlint|const |await )|\/\/ in /.test(words)) return;
    if (words === '') open = undefined;
    else if (open === undefined || /^(@|- |\d+\. )/.test(words)) {
      open = { line: index + 1, text: words.replace(/^(@(param|returns|throws)( [\w.]+)?( -)?|-|\d+\.) */, '') };
      blocks.push(open);
    } else open.text += ` ${words}`;
    if (line.endsWith('*/')) {
      inside = false;
      open = undefined;
    }
  });
  return blocks;
};

const plain = (text) =>
  text
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*_]{1,2}(\S[^*_]*)[*_]{1,2}/g, '$1')
    .replaceAll(/\b(e\.g|i\.e|etc|vs)\./g, '$1');
const sentencesOf = (text) => plain(text).split(/(?<=[.!?][)”"’»]?) +(?=[^a-z]|callsync\b|code\b)/);
const wordsIn = (text) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** Clauses that stand in place of a noun. A question ends with its mark. */
const nounClause =
  /\b(?:(?:[Ww]hat(?:ever)?) (?:is|was|are|were|has|have|had|it|they|the|a|an|this|we|you|callsync|some|no|can|cannot|may|must|could|does|did|comes?|came)\b|[Ww]hoever\b|those who\b|(?:by|of|with|for|from|to|in) what\b)/;

const problemsOf = (sentence, isProduct) => {
  const found = [];
  const clause = nounClause.exec(sentence);
  if (isProduct && clause !== null && !sentence.endsWith('?')) found.push(`“${clause[0]}”: name the thing`);
  const count = wordsIn(sentence);
  if (count > maxWords) found.push(`${count} words`);
  if (/^(What|Who|Which|Whom|Whose|Whoever)\b/.test(sentence) && !sentence.endsWith('?'))
    found.push('begins with a clause');
  if (isProduct && /^(It|They|Its|Their|Those|Others|One (that|whose|without))\b/.test(sentence))
    found.push('begins with a pronoun: name the thing');
  if ((sentence.match(/[;:](?=\s)/g) ?? []).length > 1) found.push('more than one colon or semicolon');
  for (const [term, better] of avoided) if (term.test(sentence)) found.push(`“${term.exec(sentence)?.[0]}”: ${better}`);
  return found;
};

/** Findings of one block of prose. */
const check = (path, { line, text }) => {
  const old = path === 'CHANGELOG.md' ? null : oldName.exec(text);
  return [
    ...(old === null ? [] : [`${path}:${line} old name: ${old[0]}`]),
    ...sentencesOf(text).flatMap((sentence) =>
      problemsOf(sentence, !/^(test|bench)\//.test(path)).map((problem) => `${path}:${line} ${problem}: ${sentence}`),
    ),
  ];
};

const pages = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...filesOf('dbt', /\.md$/),
  ...filesOf('docs', /\.md$/),
].filter((path) => !/node_modules|dbt_packages|\/models\//.test(path));
const sources = ['src', 'schemas', 'workflows', 'activities', 'scripts', 'test', 'bench'].flatMap((room) =>
  filesOf(room, /\.[tj]s$/),
);

let total = 0;
const findings = [];
for (const path of pages.sort()) {
  for (const block of readPage(readFileSync(path, 'utf8'))) {
    if (written(path) && !block.generated) total += wordsIn(block.text);
    if (
      path === 'CONTRIBUTING.md' &&
      /^(avoid|leaving it|Nothing is doubled|An empty|What no|Of held|So changed|what cannot|It is tried|By what|A step that)/.test(
        block.text,
      )
    )
      continue;
    findings.push(...check(path, block));
  }
}
if (total > maxDocs) findings.push(`the docs have ${total} hand-written words, more than ${maxDocs}`);
const inDocs = findings.length;
for (const path of sources.sort()) {
  const text = readFileSync(path, 'utf8');
  for (const block of readComments(text)) findings.push(...check(path, block));
  for (const [, , title] of text.matchAll(/^ *test(?:\.\w+)*(?:\([^\n]*\))?\(\s*(['`])(.*?)\1,/gm))
    if (title.length > maxTitle) findings.push(`${path} title of ${title.length} characters: ${title}`);
}

for (const finding of findings) console.log(finding);
console.log(
  `${total} hand-written words in ${pages.filter(written).length} pages (at most ${maxDocs}); ${findings.length} findings, ${inDocs} of them in docs`,
);
if (findings.length > 0) process.exitCode = 1;
