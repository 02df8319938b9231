/** Values of queries as the server writes them in a session of callsync; `answer` of a reader has the same in JSON. */
import pg from 'pg';
import { readJson, readNumber } from '../../lib/parse-json.ts';

type Read = (text: string) => unknown;

/** ISO 8601. Infinite instants, and those before Christ or after 9999, stay as PostgreSQL writes them. */
const readInstant: Read = (text) =>
  text.replace(
    /^(\d{4}-\d\d-\d\d) ([\d:]{8})(\.\d+)?(\+00)?$/,
    (_, day, time, fraction = '.', zone) => `${day}T${time}${fraction.padEnd(4, '0')}${zone === undefined ? '' : 'Z'}`,
  );

/** By the id of the type; all other values are texts. */
const readers: Readonly<Record<number, Read>> = {
  ...Object.fromEntries(([20, 21, 23, 26, 700, 701] as const).map((id) => [id, readNumber])),
  ...{ 16: (text) => text === 't', 114: readJson, 3802: readJson, 1114: readInstant, 1184: readInstant },
};

/** Id of a list and of its elements. Lists of other types are texts of the server. */
const elements = new Map(
  `1000:16 1005:21 1007:23 1016:20 1028:26 1021:700 1022:701 199:114 3807:3802 1115:1114 1185:1184 1009:25 1015:1043 1014:1042
1231:1700 1182:1082 1183:1083 1270:1266 1187:1186 1001:17 2951:2950 1041:869 651:650`
    .split(/\s/)
    .map((pair) => pair.split(':').map(Number) as [number, number]),
);

const arrays = pg.types.arrayParser as unknown as { create(text: string, read: Read): { parse(): unknown } };

export const userTypes = {
  getTypeParser: (id: number): Read => {
    const read = readers[elements.get(id) ?? id] ?? String;
    return elements.has(id) ? (text) => arrays.create(text, read).parse() : read;
  },
};
