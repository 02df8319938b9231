/** Issued tokens and their ages, in real time: a client counts a token's lifetime on its own clock. */
import { randomBytes } from 'node:crypto';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';

type TokenState = 'valid' | 'unknown' | 'expired';

interface Issued {
  readonly at: number;
  readonly expiresAt: number;
}

export class TokenStore {
  private readonly issued = new Map<string, Issued>();
  private readonly settings: SimulatorSettings;

  constructor(settings: SimulatorSettings) {
    this.settings = settings;
  }

  issue(): string {
    const token = randomBytes(24).toString('base64url');
    const at = performance.now();
    this.issued.set(token, { at, expiresAt: at + this.settings.tokens.lifetimeSeconds * 1_000 });
    return token;
  }

  /** State for the call API: lifetime since it was issued. */
  check(token: string): TokenState {
    const known = this.issued.get(token);
    if (known === undefined) return 'unknown';
    return performance.now() < known.expiresAt ? 'valid' : 'expired';
  }

  /** State for opening a WebSocket (§5.2): a limit on the token's age, whatever its lifetime. */
  checkAge(token: string, maxAgeSeconds: number): TokenState {
    const known = this.issued.get(token);
    if (known === undefined) return 'unknown';
    return performance.now() - known.at <= maxAgeSeconds * 1_000 ? 'valid' : 'expired';
  }

  /** Every token becomes unknown. */
  revoke(): void {
    this.issued.clear();
  }
}
