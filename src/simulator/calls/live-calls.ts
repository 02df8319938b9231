/** Lets time pass while the simulator runs: new calls appear, and what is due is announced. */
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { durationSecondsOf } from './population.ts';
import { fraction, hash32 } from './random.ts';
import type { World } from './world.ts';

const tickMs = 25;

export class LiveCalls {
  private readonly timer: NodeJS.Timeout;
  private readonly world: World;
  private readonly settings: SimulatorSettings;
  private lastAt = performance.now();
  private due = 0;
  private ticks = 0;

  constructor(world: World, settings: SimulatorSettings) {
    this.world = world;
    this.settings = settings;
    this.timer = setInterval(() => this.tick(), tickMs);
  }

  private tick(): void {
    const { world, settings } = this;
    if (settings.staticPages) return;
    const now = performance.now();
    const { callsPerSecond, processingSeconds, editShare } = settings.live;
    this.due = callsPerSecond === 0 ? 0 : this.due + (callsPerSecond * (now - this.lastAt)) / 1_000;
    this.lastAt = now;
    world.advance();
    for (; this.due >= 1; this.due--) this.appear(processingSeconds);
    this.ticks++;
    if (editShare > 0 && fraction(settings.seed, this.ticks, 97) < editShare && world.count > 0) this.editOne();
  }

  private appear(processingSeconds: number): void {
    const { world, settings } = this;
    const ended = world.now();
    const timestamp = ended - durationSecondsOf(settings.seed, world.count) * 1_000;
    world.insert({
      timestamp: new Date(timestamp).toISOString(),
      qualified: new Date(ended + processingSeconds * 1_000).toISOString(),
    });
  }

  private editOne(): void {
    const { world, settings } = this;
    const index = hash32(settings.seed, this.ticks, 98) % world.count;
    if (world.isListed(index, world.now())) world.edit(index, {});
  }

  close(): void {
    clearInterval(this.timer);
  }
}
