/** The data contract of the warehouse tables after the Open Data Contract Standard, from the one definition of the tables. */
import { stringify } from 'yaml';
import { type Column, type ColumnType, columnsOf, type Table, tables, wordsView } from '../schemas/tables.ts';

/**
 * The contract's own version; its test demands a new one for each change of tables or columns. Additions raise the
 * second number, other changes the first.
 */
const contractVersion = '4.0.0';

const logicalTypes: Readonly<Record<Exclude<ColumnType, 'words'>, string>> = {
  text: 'string',
  timestamp: 'timestamp',
  float: 'number',
  int: 'integer',
  bool: 'boolean',
  json: 'object',
  decimal: 'number',
};

const property = (column: Column, key: readonly string[]) => {
  // Warehouses differ in the columns of words; the view has the same in both.
  if (column.type === 'words') return [];
  const position = key.indexOf(column.name);
  const own = {
    name: column.name,
    logicalType: logicalTypes[column.type],
    // A value of JSON has no type that a checker could take for an object.
    ...(column.type === 'json' ? { physicalType: 'jsonb' } : {}),
    description: column.description,
    required: column.required === true,
    ...(position < 0 ? {} : { primaryKey: true, primaryKeyPosition: position + 1 }),
    // The restricted role does not read transcripts, telephone numbers and free fields.
    classification: column.open === true ? 'internal' : 'restricted',
  };
  return [own];
};

const relation = (table: Table | typeof wordsView) => ({
  name: table.name,
  physicalType: table.kind === 'view' ? 'view' : 'table',
  description: table.description,
  dataGranularityDescription: `One row per ${table.grain}.`,
  properties: columnsOf(table).flatMap((column) => property(column, table.key)),
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
        limitations:
          'Units that the service does not state are stored as sent. The physical type jsonb is JSON in BigQuery. Table documents, which the setting documents adds, is not in the contract.',
      },
      schema: [...tables.filter(({ name }) => name !== 'documents'), wordsView].map(relation),
    },
    { lineWidth: 0, aliasDuplicateObjects: false },
  )}`;
