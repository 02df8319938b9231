/** Every mart, each after the marts that it reads. */
import { callMarts } from './definitions/call-marts.ts';
import { dailyMarts } from './definitions/daily-marts.ts';
import { talkMarts } from './definitions/talk-marts.ts';
import type { Mart } from './mart.ts';

export const marts: readonly Mart[] = [...callMarts, ...talkMarts, ...dailyMarts];

/** Open columns of each mart for the restricted role. The role reads no other mart, even if a mart has the same columns. */
export const openMartColumns: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  marts.flatMap(({ name, key, columns }) => {
    const open = columns.filter((column) => column.open === true).map((column) => column.name);
    return key.every((column) => open.includes(column)) ? [[name, open]] : [];
  }),
);
