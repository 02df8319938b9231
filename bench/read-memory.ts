/**
 * Peak memory of a reader without Temporal, store and warehouse. It reads a window of pages of 50 MB from a simulator
 * in a process of its own. The memory of the process before the start is shown beside. About half a minute.
 */
import { sourceConfigSchema } from '../schemas/config/source.ts';
import type { SimulatorOptions } from '../schemas/simulator.ts';
import { sourceOf, startSimulatorProcess } from '../src/simulator/demo/simulator-process.ts';
import { applyPreset } from '../src/source/presets/presets.ts';
import { readWindow } from '../src/source/read/read-window.ts';
import { createSource } from '../src/source/source.ts';

const mib = 1024 * 1024;
const options: SimulatorOptions = {
  calls: { count: 1_400, utterances: 4, padding: 250_000, otherShare: 0, lateShare: 0, processingSeconds: 1 },
  rateLimit: { requests: 0 },
};

const service = await startSimulatorProcess(options);
const { source: section } = await applyPreset({
  source: {
    ...sourceOf(service),
    list: { preset: 'activate' },
    limits: { requests: 1_000_000 },
  },
});
const source = createSource(sourceConfigSchema.parse(section));
const before = process.memoryUsage().rss;
let peak = before;
const watch = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage().rss);
}, 10);
const started = performance.now();
const result = await readWindow({
  client: source.list,
  window: {
    axis: 'qualified',
    from: Date.parse(service.range.from) * 1000,
    to: Date.parse(service.range.to) * 1000 + 86_400_000_000,
  },
  onPage: async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
  },
});
clearInterval(watch);
await source.close();
await service.stop();
console.log(
  JSON.stringify({
    calls: result.calls,
    requests: result.requests,
    seconds: Math.round((performance.now() - started) / 100) / 10,
    rss_before_mb: Math.round(before / mib),
    rss_peak_mb: Math.round(peak / mib),
    shown: result.shown,
  }),
);
