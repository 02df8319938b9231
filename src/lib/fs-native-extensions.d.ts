/** The part of the package that is used; it brings no types. */
declare module 'fs-native-extensions' {
  /** For the whole file; false when another open file holds it, unless both share it. The kernel lets go when `fd` is closed. */
  export const tryLock: (fd: number, options?: { readonly shared?: boolean }) => boolean;
}
