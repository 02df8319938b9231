/** Rows of the REST API (`{f: [{v: …}]}`) as plain values, by the schema that came with them. */

export interface WireField {
  readonly name: string;
  readonly type: string;
  readonly mode?: string;
  readonly fields?: readonly WireField[];
}

export type WireRow = { readonly f: readonly { readonly v: unknown }[] };

/** How instants and JSON appear: as flatten makes them (microseconds, text), or for people (Date, parsed). */
export type Reading = 'flat' | 'plain';

export const decodeRow = (fields: readonly WireField[], row: WireRow, reading: Reading): Record<string, unknown> =>
  Object.fromEntries(fields.map((field, index) => [field.name, decodeField(field, row.f[index]?.v ?? null, reading)]));

const decodeField = (field: WireField, value: unknown, reading: Reading): unknown => {
  if (field.mode === 'REPEATED') {
    const items = (value ?? []) as readonly { readonly v: unknown }[];
    return items.map((item) => decodeValue(field, item.v, reading));
  }
  return value === null ? null : decodeValue(field, value, reading);
};

/** Values of other types are texts, and stay. */
const decoders: Readonly<Record<string, (value: unknown, reading: Reading, field: WireField) => unknown>> = {
  INT64: (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)),
  FLOAT64: Number,
  BOOL: (value) => value === true || value === 'true',
  TIMESTAMP: (value, reading) => (reading === 'flat' ? Number(value) : new Date(Math.floor(Number(value) / 1000))),
  JSON: (value, reading) => (reading === 'flat' ? value : JSON.parse(String(value))),
  STRUCT: (value, reading, { fields = [] }) => decodeRow(fields, value as WireRow, reading),
};

const decodeValue = (field: WireField, value: unknown, reading: Reading): unknown => {
  const decode = decoders[standardType(field.type)];
  return value === null || value === undefined ? null : decode === undefined ? value : decode(value, reading, field);
};

const legacyNames: Readonly<Record<string, string>> = {
  INTEGER: 'INT64',
  FLOAT: 'FLOAT64',
  BOOLEAN: 'BOOL',
  RECORD: 'STRUCT',
  BIGDECIMAL: 'BIGNUMERIC',
};

/** The API answers with the names of legacy SQL. */
export const standardType = (type: string): string => legacyNames[type] ?? type;
