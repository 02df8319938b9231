/** The same suite over every warehouse: real PostgreSQL, and the BigQuery emulator behind strict rules. */
import { describeCapabilities } from './conformance-capabilities.ts';
import { describeContents } from './conformance-contents.ts';
import { describeLoads } from './conformance-loads.ts';
import { targets } from './conformance-targets.ts';

for (const [name, useTarget] of targets) {
  describeLoads(name, useTarget);
  describeContents(name, useTarget);
  describeCapabilities(name, useTarget);
}
