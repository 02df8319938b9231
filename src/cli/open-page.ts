/** The status page of a process that works. */
import { createAccess } from '../operations/page/access.ts';
import { createPage, type Page } from '../operations/page/page.ts';
import { openSecret } from '../secret.ts';
import { recordVersion } from '../store/status/events.ts';
import type { Parts } from './services/open-parts.ts';
import { createPageActions } from './services/page-actions.ts';
import { createPageReader, type SpoolDepth } from './services/read-page.ts';
import type { Services } from './services/services.ts';
import { readVersion } from './version.ts';

const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/**
 * Undefined where it is turned off, or where everybody who reaches the port could read it.
 * @param readSpool of the receiver in this process, if there is one.
 */
export const openPage = (services: Services, parts: Parts, readSpool?: () => SpoolDepth): Page | undefined => {
  const { enabled, page, listen, hosts, actors: configured, token_file: file } = services.config.operations;
  if (!enabled || !page) return undefined;
  const readToken = openSecret({ key: 'operations.token', file })?.read;
  const actors = configured.flatMap(({ name, token_file: own }) => {
    const secret = openSecret({ key: 'operations.actors[].token', file: own });
    return secret === undefined ? [] : [{ name, token: secret.read }];
  });
  const isGuarded = readToken !== undefined || actors.length > 0;
  const isLocal = loopback.test(listen);
  if (!isLocal && !isGuarded) {
    services.log('the status page is not served: operations.listen is no loopback address and there is no token', {});
    return undefined;
  }
  recordVersion(parts.store, readVersion()).catch(() => undefined);
  const access = createAccess({ isOpen: isLocal && readToken === undefined, readToken, actors, hosts });
  const actions = actors.length === 0 ? undefined : createPageActions(services, parts);
  return createPage({ access, actions, ...createPageReader(services, parts, readSpool) });
};
