/** An address, or a path, without slashes at its end. */
export const trimSlashes = (address: string): string => address.replace(/\/+$/, '');
