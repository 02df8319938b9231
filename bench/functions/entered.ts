/** Lists the functions of ours that a piece of work enters, by V8's precise coverage of the built files. */
import { existsSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface EnteredFunction {
  /** Relative to the repository, such as `src/calls/fold.ts`. */
  readonly file: string;
  /** 1-based line of the source. */
  readonly line: number;
  /** Empty for a callback without a name. */
  readonly name: string;
  /** Whether other files can call it by its name. Methods of returned objects count as parts of their function. */
  readonly exported: boolean;
  /** How often it was entered. */
  readonly count: number;
}

export interface Recorder {
  /** Functions entered while the work ran, by place. */
  record(work: () => Promise<void>): Promise<ReadonlyMap<string, EnteredFunction>>;
  stop(): Promise<void>;
}

const dist = resolve(import.meta.dirname, '../..');
const root = resolve(dist, '..');
const rooms = ['src', 'activities', 'workflows', 'schemas'];

/** Slows the process down, because V8 counts every block of every function. */
export const startRecorder = async (): Promise<Recorder> => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return {
    record: async (work) => {
      await session.post('Profiler.takePreciseCoverage');
      await work();
      const { result } = await session.post('Profiler.takePreciseCoverage');
      const entered = new Map<string, EnteredFunction>();
      for (const { url, functions } of result) {
        const script = openScript(url);
        if (script === undefined) continue;
        for (const { functionName: name, ranges } of functions) {
          const [whole] = ranges;
          if (whole === undefined || whole.count === 0) continue;
          const place = script.locate(whole.startOffset);
          const exported = isExported(place.file, name);
          entered.set(`${place.file}:${place.line}:${whole.startOffset}`, {
            ...place,
            name,
            exported,
            count: whole.count,
          });
        }
      }
      return entered;
    },
    stop: async () => {
      await session.post('Profiler.stopPreciseCoverage');
      session.disconnect();
    },
  };
};

const sources = new Map<string, string>();

const isExported = (file: string, name: string): boolean => {
  const text = sources.get(file) ?? readFileSync(resolve(root, file), 'utf8');
  sources.set(file, text);
  return /^\w+$/.test(name) && new RegExp(`^export (?:async )?(?:const|function\\*?|class) ${name}\\b`, 'm').test(text);
};

interface Script {
  locate(offset: number): { readonly file: string; readonly line: number };
}

const scripts = new Map<string, Script>();

/** Undefined for functions of packages and of the measurement itself. */
const openScript = (url: string): Script | undefined => {
  if (!url.startsWith('file:')) return undefined;
  const path = fileURLToPath(url);
  if (!rooms.some((room) => path.startsWith(`${dist}/${room}/`)) || !existsSync(`${path}.map`)) return undefined;
  const known = scripts.get(path);
  if (known !== undefined) return known;
  const text = readFileSync(path, 'utf8');
  const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')));
  const script: Script = {
    locate: (offset) => {
      const before = text.slice(0, offset);
      const line = before.split('\n').length - 1;
      const entry = map.findEntry(line, offset - before.lastIndexOf('\n') - 1);
      if (!('originalSource' in entry)) return { file: relative(dist, path).replace(/js$/, 'ts'), line: line + 1 };
      return {
        file: relative(root, resolve(dirname(path), entry.originalSource)),
        line: entry.originalLine + 1,
      };
    },
  };
  scripts.set(path, script);
  return script;
};

/** Functions that one more item enters: entered with it and not without it, or entered more often with it. */
export interface Difference {
  readonly only: readonly EnteredFunction[];
  readonly more: readonly EnteredFunction[];
}

/** Timers and progress marks come at any time: what counts is seen in every pair of runs. */
export const compareRuns = (
  pairs: readonly {
    readonly empty: ReadonlyMap<string, EnteredFunction>;
    readonly one: ReadonlyMap<string, EnteredFunction>;
  }[],
): Difference => {
  const [first] = pairs;
  if (first === undefined) return { only: [], more: [] };
  const inAll = (holds: (place: string, pair: (typeof pairs)[number]) => boolean): EnteredFunction[] =>
    [...first.one].filter(([place]) => pairs.every((pair) => holds(place, pair))).map(([, entered]) => entered);
  const countOf = (entered: ReadonlyMap<string, EnteredFunction>, place: string): number =>
    entered.get(place)?.count ?? 0;
  return {
    only: inAll((place, { empty, one }) => one.has(place) && !empty.has(place)),
    more: inAll((place, { empty, one }) => countOf(one, place) > countOf(empty, place)),
  };
};
