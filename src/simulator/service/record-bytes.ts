/** Serialised list records: a small cache while calls change, everything at once when they are frozen. */
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import type { World } from '../calls/world.ts';
import { listDocument } from './record-shape.ts';

const cacheBytes = 48 * 1024 * 1024;
const comma = Buffer.from(',');

/** Records of a page joined by commas, as chunks to be written one after the other. */
export interface RecordBytes {
  /** @param at simulated time whose versions are shown */
  join(indices: readonly number[], exclude: ReadonlySet<string>, at: number): readonly Buffer[];
}

/** Makes records on demand; forgets the oldest beyond 48 MB. The key covers everything that shapes a record. */
export class ChangingRecords implements RecordBytes {
  private readonly cache = new Map<string, string>();
  private size = 0;
  private readonly world: World;
  private readonly settings: SimulatorSettings;
  private shape = '';

  constructor(world: World, settings: SimulatorSettings) {
    this.world = world;
    this.settings = settings;
  }

  join(indices: readonly number[], exclude: ReadonlySet<string>, at: number): readonly Buffer[] {
    const { listOmits, listAdds } = this.settings;
    const shape = JSON.stringify([listOmits, listAdds]);
    if (shape !== this.shape) this.forget(shape);
    const variant = [...exclude].sort().join();
    return [Buffer.from(indices.map((index) => this.recordOf(index, exclude, variant, at)).join(','))];
  }

  private forget(shape: string): void {
    this.shape = shape;
    this.cache.clear();
    this.size = 0;
  }

  private recordOf(index: number, exclude: ReadonlySet<string>, variant: string, at: number): string {
    const version = this.world.versionAt(index, at);
    const key = `${index}:${version}:${variant}`;
    const known = this.cache.get(key);
    if (known !== undefined) return known;
    const made = JSON.stringify(listDocument(this.world, this.settings, index, version, exclude));
    this.cache.set(key, made);
    this.size += made.length;
    for (const [oldest, text] of this.cache) {
      if (this.size <= cacheBytes) break;
      this.cache.delete(oldest);
      this.size -= text.length;
    }
    return made;
  }
}

interface Frozen {
  readonly bytes: Buffer;
  /** Start of each record; a comma follows each, so the next start minus one is its end. */
  readonly starts: Float64Array;
}

/** One growing block, because a list of single buffers would hold everything twice while it is joined. */
const freeze = (count: number, textOf: (index: number) => string): Frozen => {
  const starts = new Float64Array(count + 1);
  let bytes = Buffer.allocUnsafe(1 << 20);
  let at = 0;
  for (let index = 0; index < count; index++) {
    const text = textOf(index);
    const length = Buffer.byteLength(text);
    if (at + length > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.ceil((at + length) * Math.max(1.1, Math.min(2, count / (index + 1)))));
      bytes.copy(larger, 0, 0, at);
      bytes = larger;
    }
    at += bytes.write(text, at);
    starts[index + 1] = at;
  }
  return { bytes, starts };
};

/** All records serialised once, in index order; pages are slices of that memory. */
export class FrozenRecords implements RecordBytes {
  private readonly variants = new Map<string, Frozen>();
  private readonly world: World;
  private readonly settings: SimulatorSettings;

  constructor(world: World, settings: SimulatorSettings) {
    this.world = world;
    this.settings = settings;
    this.variantOf(new Set());
  }

  private variantOf(exclude: ReadonlySet<string>): Frozen {
    const key = [...exclude].sort().join();
    const known = this.variants.get(key);
    if (known !== undefined) return known;
    const made = freeze(this.world.count, (index) => {
      const document = listDocument(this.world, this.settings, index, this.world.versionOf(index), exclude);
      return `${JSON.stringify(document)},`;
    });
    this.variants.set(key, made);
    return made;
  }

  join(indices: readonly number[], exclude: ReadonlySet<string>): readonly Buffer[] {
    const { bytes, starts } = this.variantOf(exclude);
    const chunks: Buffer[] = [];
    for (let i = 0; i < indices.length; ) {
      const first = indices[i] as number;
      let last = first;
      for (i++; i < indices.length && indices[i] === last + 1; i++) last++;
      if (chunks.length > 0) chunks.push(comma);
      chunks.push(bytes.subarray(starts[first], (starts[last + 1] as number) - 1));
    }
    return chunks;
  }
}
