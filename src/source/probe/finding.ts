/** What a probe found out, and how sure it is. */
export interface Finding {
  /** Key of `source.list` (or another part of `source`) that it is about. */
  readonly key: string;
  /** In words; names of parameters and fields, numbers, never content. */
  readonly found: string;
  readonly confidence: 'sure' | 'likely' | 'guess' | 'unknown';
  readonly evidence: string;
}
