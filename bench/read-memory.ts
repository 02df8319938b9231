/**
 * Peak memory of a reader without Temporal, store and warehouse. It reads a window of pages of 50 MB from a simulator
 * in a process of its own. The memory of the process before the start is shown beside. About half a minute.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sourceConfigSchema } from '../schemas/config/source.ts';
import type { SimulatorOptions } from '../schemas/simulator.ts';
import type { SimulatorAddresses } from '../src/simulator/start-simulator.ts';
import { applyPreset } from '../src/source/presets/presets.ts';
import { readWindow } from '../src/source/read/read-window.ts';
import { createSource } from '../src/source/source.ts';

const mib = 1024 * 1024;
const options: SimulatorOptions = {
  calls: { count: 1_400, utterances: 4, padding: 250_000, otherShare: 0, lateShare: 0, processingSeconds: 1 },
  rateLimit: { requests: 0 },
};

const startService = async (): Promise<{ addresses: SimulatorAddresses; stop: () => void }> => {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../src/simulator/control/child.js', import.meta.url))],
    {
      env: { ...process.env, CALLSYNC_SIMULATOR: JSON.stringify(options) },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { addresses: JSON.parse(line) as SimulatorAddresses, stop: () => child.kill('SIGTERM') };
};

const { addresses, stop } = await startService();
const { source: section } = await applyPreset({
  source: {
    base_url: addresses.url,
    auth_url: addresses.authUrl,
    realm: addresses.realm,
    client_id: addresses.clientId,
    client_secret: addresses.clientSecret,
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
let largest = 0;
const started = performance.now();
const result = await readWindow({
  client: source.list,
  window: {
    axis: 'qualified',
    from: Date.parse(addresses.range.from) * 1000,
    to: Date.parse(addresses.range.to) * 1000 + 86_400_000_000,
  },
  onPage: async (observations) => {
    largest = Math.max(largest, observations.length);
    await new Promise((resolve) => setTimeout(resolve, 20));
  },
});
clearInterval(watch);
await source.close();
stop();
console.log(
  JSON.stringify({
    calls: result.calls,
    pages: result.pages,
    page_mb: Math.round(result.bytes / result.pages / 1e5) / 10,
    seconds: Math.round((performance.now() - started) / 100) / 10,
    rss_before_mb: Math.round(before / mib),
    rss_peak_mb: Math.round(peak / mib),
    shown: result.shown,
  }),
);
