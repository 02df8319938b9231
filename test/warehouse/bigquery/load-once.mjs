// A process of its own that carries out one load, told on standard input. Runs the built code.
import { createBigqueryWarehouse } from '../../../dist/src/warehouse/bigquery/warehouse.js';

let text = '';
for await (const chunk of process.stdin) text += chunk;
const { config, loadId, calls } = JSON.parse(text);
const warehouse = createBigqueryWarehouse({
  name: 'bq',
  config,
  // This process loads nothing else.
  lease: { run: (_name, work) => work(new AbortController().signal) },
  quotaMemory: { read: async () => [], write: async () => undefined },
  pause: (ms) => new Promise((done) => setTimeout(done, ms / 50)),
});
await warehouse.load({
  loadId,
  epoch: 1,
  flattenVersion: 1,
  origin: 'read',
  calls: calls.map(({ rows, ...call }) => ({ ...call, flatten: () => rows })),
  tombstones: [],
  logs: {},
  keyOf: (callId) => `key-of-${callId}`,
});
