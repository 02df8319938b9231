/** The data contract of the warehouse tables after the Open Data Contract Standard, from the one definition of the tables. */
import { stringify } from 'yaml';
import { type Column, type ColumnType, columnsOf, type Table, tables, wordsView } from '../schemas/tables.ts';

/**
 * The contract's own version; its test demands a new one for each change of tables or columns. Additions raise the
 * second number, other changes the first.
 */
const contractVersion = '3.2.0';

const logicalTypes: Readonly<Record<ColumnType, string>> = {
  text: 'string',
  timestamp: 'timestamp',
  float: 'number',
  int: 'integer',
  bool: 'boolean',
  json: 'object',
  decimal: 'number',
  words: 'array',
};

const property = (column: Column, key: readonly string[]) => {
  const position = key.indexOf(column.name);
  return {
    name: column.name,
    logicalType: logicalTypes[column.type],
    description: column.description,
    required: column.required === true,
    ...(position < 0 ? {} : { primaryKey: true, primaryKeyPosition: position + 1 }),
    // The restricted role does not read transcripts, telephone numbers and free fields.
    classification: column.open === true ? 'internal' : 'restricted',
    ...(column.type === 'words' ? { items: { logicalType: 'object' } } : {}),
  };
};

const relation = (table: Table | typeof wordsView) => ({
  name: table.name,
  physicalType: table.kind === 'view' ? 'view' : 'table',
  description: table.description,
  dataGranularityDescription: `One row per ${table.grain}.`,
  properties: columnsOf(table).map((column) => property(column, table.key)),
});

export const renderContract = (): string =>
  `# Written by npm run generate from schemas/tables.ts. Servers, team and prices are yours to add in a copy.\n${stringify(
    {
      version: contractVersion,
      apiVersion: 'v3.2.0',
      kind: 'DataContract',
      id: 'urn:callsync:calls',
      name: 'Call data',
      status: 'active',
      description: {
        purpose: 'Calls of a call-data service with transcripts, tags and metadata, flat, in PostgreSQL and BigQuery.',
        usage:
          'The same tables, columns and meanings in both warehouses; each uses its own types. Columns are added, never removed or renamed. Table verdicts and sync_state say what is proven complete.',
        limitations: 'Units that the service does not state are stored as sent.',
      },
      schema: [...tables, wordsView].map(relation),
    },
    { lineWidth: 0, aliasDuplicateObjects: false },
  )}`;
