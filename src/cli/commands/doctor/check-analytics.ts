/** What marts need to know and nobody has said yet. */
import { unitFields } from '../../../../schemas/config/analytics.ts';
import type { Services } from '../../parts/services.ts';
import { type Check, ok, warning } from './check.ts';

export const analyticsCheck = ({ config }: Services): Check => ({
  name: 'analytics',
  run: async () => {
    const { units, agent_side: side } = config.analytics;
    const unknown = unitFields.filter((field) => units[field] === 'unknown');
    if (unknown.length > 0) {
      return warning(
        `The unit of ${unknown.join(', ')} is not known, so marts leave figures in seconds empty.`,
        'Run callsync calibrate --write once calls are loaded.',
      );
    }
    const sides = [side.default, ...Object.values(side.by_direction)];
    if (sides.every((one) => one === 'unknown')) {
      return warning('Which side of a transcript is the agent is not known.', 'Set analytics.agent_side.');
    }
    return ok('Units and the side of the agent are known.');
  },
});
