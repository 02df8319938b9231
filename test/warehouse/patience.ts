import { vi } from 'vitest';

/**
 * For files whose tests use the local BigQuery. The first of them installs it, which takes a minute or more. Each
 * commit takes seconds while others want the processor too. Call it before the first hook or test.
 */
export const bePatient = (): void => {
  vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });
};
