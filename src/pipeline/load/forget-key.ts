/** Unlinks the tokens of a key that is no longer configured. */
import { resanitizeInbox } from '../../store/delivery/resanitize.ts';
import { forgetAliasesOf } from '../../store/loads/token-aliases.ts';
import type { Store } from '../../store/store.ts';

export interface ForgottenKey {
  /** Aliases to or from its tokens; warehouses lose them with their next loads. */
  readonly aliases: number;
  /** Bodies of deliveries that carried some. */
  readonly inbox: number;
}

/**
 * Nothing leads any more from the tokens of the key to other ones, also after a restore: the log outside the store says so.
 * Workers that still have the key note aliases again.
 * @param admit what is stored of a body under the present keys.
 * @throws CallsyncError ERASURE_LOG, DATABASE_…; may be repeated after any of them.
 */
export const forgetKey = async (
  store: Store,
  keyId: string,
  admit: Parameters<typeof resanitizeInbox>[1],
): Promise<ForgottenKey> => {
  await store.erasures.log.append('forgotten_key', [keyId]);
  const aliases = await forgetAliasesOf(store, keyId);
  const inbox = await resanitizeInbox(store, admit);
  // Of deliveries that were folded meanwhile.
  return { aliases: aliases + (await forgetAliasesOf(store, keyId)), inbox };
};
