/** What the styles of paging have in common. */
export interface PageRequest {
  /** Query parameters of this page, on top of those of the query. */
  readonly params: Readonly<Record<string, string>>;
  /** The whole address, where the service dictates it (links). */
  readonly url?: string;
  /** Records asked for; undefined where the service decides. */
  readonly size: number | undefined;
  /** Records before this page, as far as the style counts them. */
  readonly offset: number;
  /** Records before this page together with those that it repeats; `offset` where it repeats none. */
  readonly known?: number;
  /** Number of the page, from 0. */
  readonly index: number;
  /** The page before was empty: this one is asked for to see whether the list has a gap there or ends. */
  readonly isBehindGap?: boolean;
  /** Records on the page before: this one may be beyond the end, and refused as such. */
  readonly behind?: number | undefined;
}

/** What came back for a request. */
export interface SeenPage {
  readonly request: PageRequest;
  /** Records on the page. */
  readonly records: number;
  /** Total that matches the query, where the service says it. */
  readonly total: number | undefined;
  /** Whether a list was seen to end where its total says: totals may also count pages, or the records of one page. */
  readonly totalIsProven: boolean;
  /** The document without its records. */
  readonly envelope: unknown;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly url: URL;
  /** The service refused the page, and a page of another size showed that the list ends before it. */
  readonly isShownEnd?: boolean;
}

export interface Pagination {
  /** Records asked for on a page; undefined where the service decides. */
  readonly size: number | undefined;
  /** Whether a page can start at any record, so that neighbours can be made to overlap. */
  readonly seekable: boolean;
  first(size?: number): PageRequest;
  /** A page of its own size from `offset` on, a multiple of `size`; absent where the style cannot be asked for one. */
  readonly at?: (offset: number, size: number) => PageRequest;
  /** The page after the one seen; undefined where the style itself says that it was the last. */
  next(seen: SeenPage, overlap: number): PageRequest | undefined;
}

/**
 * Whether counting alone shows that nothing follows: an empty page where the total is reached, two empty pages, or a proven
 * total reached exactly by a page that is not full. Behind a full one more may follow, because totals can lag behind the
 * list. Behind one empty page more may follow where a service pages first and leaves out records afterwards.
 */
export const isExhausted = (
  { records, total, totalIsProven, isShownEnd, request: { offset, size, isBehindGap } }: SeenPage,
  overlap = 0,
): boolean => {
  if (isShownEnd) return true;
  if (records <= overlap) return isBehindGap === true || offset + records === total;
  const isFull = size !== undefined && records >= size;
  return totalIsProven && !isFull && offset + records === total;
};

/** What styles share whose pages follow one after another; `params` ask for the first. */
export const forwardOnly = (
  config: { readonly size_param?: string | undefined; readonly size: number },
  params: Readonly<Record<string, string>> = {},
): Pick<Pagination, 'size' | 'seekable' | 'first'> => ({
  size: config.size_param === undefined ? undefined : config.size,
  seekable: false,
  first: (size = config.size) => ({
    params: { ...params, ...sizeParam(config.size_param, size) },
    size: config.size_param === undefined ? undefined : size,
    offset: 0,
    index: 0,
  }),
});

export const sizeParam = (name: string | undefined, size: number): Record<string, string> =>
  name === undefined ? {} : { [name]: String(size) };
