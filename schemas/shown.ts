/**
 * How it was shown that a reading brought every call of a window: by the total before and after, because one response
 * held everything, by a second listing that names the same calls, by pages that overlap, or not at all.
 */
export type Shown = 'total' | 'one_response' | 'second_listing' | 'overlap' | 'none';
