/** What deliveries have in place of the id of an erased call: its keyed hash, marked as one. */
export const erasedName = (callKey: string): string => `erased:${callKey}`;
