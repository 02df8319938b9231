/** A receiver as a process of its own, to be killed. Options as JSON in its first argument; prints its address once. */
import { boundMemory } from '../../../src/lib/bound-memory.ts';
import { type StartOptions, startReceiver } from './receiver.ts';

export type ReceiverProcessOptions = Pick<StartOptions, 'spoolDir' | 'config'> & { readonly databaseUrl: string };

// As `callsync serve` does.
boundMemory();
const { receiver } = await startReceiver(JSON.parse(process.argv[2] ?? '') as ReceiverProcessOptions);
process.stdout.write(`${JSON.stringify({ address: receiver.address })}\n`);

// Asked for by the parent: memory after a collection, and what waits.
process.stdin.on('data', () => {
  const { rss } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ rss, ...receiver.status() })}\n`);
});
process.stdin.on('end', () => process.exit());
