import { vi } from 'vitest';

/**
 * For files whose tests use the local BigQuery: the first of them installs it (a minute, or several on a slow machine),
 * and each commit into it takes seconds where others want the processor too. Call it before the first hook or test.
 */
export const bePatient = (): void => {
  vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });
};
