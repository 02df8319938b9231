/** Check of the privacy rules: whether all that is stored is under the configured ones. */
import { versionOfRules } from '../../../privacy/rules.ts';
import { countUnderOthers } from '../../../store/ledger/rules-version.ts';
import type { Store } from '../../../store/store.ts';
import type { Services } from '../../parts/services.ts';
import { type Check, ok, warning } from './check.ts';
import { needStore } from './check-store.ts';

/** None where there are no rules. */
export const privacyChecks = ({ config }: Pick<Services, 'config'>, opening: Promise<Store>): Check[] => {
  const version = versionOfRules(config.privacy);
  if (version === undefined) return [];
  return [
    {
      name: 'privacy',
      run: async () => {
        const calls = await countUnderOthers(await needStore(opening), version);
        if (calls === 0) return ok(`All calls are under rules ${version}.`);
        return warning(
          `${calls} call(s) are not under rules ${version}, but under others or none.`,
          'callsync privacy apply brings them under the present ones.',
        );
      },
    },
  ];
};
