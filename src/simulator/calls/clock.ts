/** The simulated service's clock: real time, shifted and possibly faster. */
export interface ClockChange {
  /** Sets the clock to this instant (ISO 8601). */
  readonly now?: string;
  readonly advanceSeconds?: number;
  readonly speed?: number;
}

export class SimulatorClock {
  private realBase = performance.now();
  private simBase: number;
  private speed: number;

  constructor(now: string | undefined, speed: number) {
    this.simBase = now === undefined ? Date.now() : Date.parse(now);
    this.speed = speed;
  }

  /** Milliseconds since the epoch, whole. */
  now(): number {
    return Math.floor(this.simBase + (performance.now() - this.realBase) * this.speed);
  }

  change(change: ClockChange): void {
    const current = change.now === undefined ? this.now() : Date.parse(change.now);
    this.realBase = performance.now();
    this.simBase = current + (change.advanceSeconds ?? 0) * 1000;
    this.speed = change.speed ?? this.speed;
  }
}
