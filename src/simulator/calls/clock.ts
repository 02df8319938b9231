/** The simulated service's clock: real time, shifted. */
export interface ClockChange {
  /** Sets the clock to this instant (ISO 8601). */
  readonly now?: string;
  readonly advanceSeconds?: number;
}

export type SimulatorClock = ReturnType<typeof createClock>;

/** @param start the first instant (ISO 8601); by default the real time. */
export const createClock = (start: string | undefined) => {
  let realBase = performance.now();
  let simBase = start === undefined ? Date.now() : Date.parse(start);
  /** Milliseconds since the epoch, whole. */
  const now = (): number => Math.floor(simBase + performance.now() - realBase);
  return {
    now,
    change(change: ClockChange): void {
      const current = change.now === undefined ? now() : Date.parse(change.now);
      realBase = performance.now();
      simBase = current + (change.advanceSeconds ?? 0) * 1000;
    },
  };
};
