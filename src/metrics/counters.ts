/** Counters over figures that something else counts already. */
import { Counter, type Registry } from 'prom-client';
import type { Sample } from './shared-reading.ts';

/** A counter that shows, at every scrape, totals that only grow. */
export const counterOver = (
  registry: Registry,
  counter: {
    readonly name: string;
    readonly help: string;
    readonly labels?: readonly string[];
    readonly samples: () => readonly Sample[] | Promise<readonly Sample[]>;
  },
): void => {
  new Counter({
    name: counter.name,
    help: counter.help,
    labelNames: [...(counter.labels ?? [])],
    registers: [registry],
    async collect() {
      this.reset();
      for (const [value, labels = {}] of await counter.samples()) this.inc({ ...labels }, value);
    },
  });
};
