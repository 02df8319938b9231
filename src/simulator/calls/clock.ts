/** The simulated service's clock: real time, shifted. */
export interface ClockChange {
  /** Sets the clock to this instant (ISO 8601). */
  readonly now?: string;
  readonly advanceSeconds?: number;
}

export class SimulatorClock {
  private realBase = performance.now();
  private simBase: number;

  constructor(now: string | undefined) {
    this.simBase = now === undefined ? Date.now() : Date.parse(now);
  }

  /** Milliseconds since the epoch, whole. */
  now(): number {
    return Math.floor(this.simBase + performance.now() - this.realBase);
  }

  change(change: ClockChange): void {
    const current = change.now === undefined ? this.now() : Date.parse(change.now);
    this.realBase = performance.now();
    this.simBase = current + (change.advanceSeconds ?? 0) * 1000;
  }
}
