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

const decodeValue = (field: WireField, value: unknown, reading: Reading): unknown => {
  if (value === null || value === undefined) return null;
  switch (standardType(field.type)) {
    case 'INT64':
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    case 'FLOAT64':
      return Number(value);
    case 'BOOL':
      return value === true || value === 'true';
    case 'TIMESTAMP':
      return reading === 'flat' ? Number(value) : new Date(Math.floor(Number(value) / 1000));
    case 'JSON':
      return reading === 'flat' ? value : JSON.parse(String(value));
    case 'STRUCT':
      return decodeRow(field.fields ?? [], value as WireRow, reading);
    default:
      return value;
  }
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
