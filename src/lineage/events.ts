/** A finished load as OpenLineage events: pure. No call, and nothing of one, is in them. */
import { tables } from '../../schemas/tables.ts';

export interface FinishedLoad {
  readonly warehouse: string;
  readonly outcome: 'committed' | 'failed';
  readonly seconds: number;
}

/** Where the tables of a warehouse are, by OpenLineage's naming of datasets. */
export interface DatasetPlace {
  /** `postgres://host:port` or `bigquery`. */
  readonly namespace: string;
  /** What comes before the table: `database.schema` or `project.dataset`. */
  readonly prefix: string;
  /** Whether table `documents` is there. */
  readonly documents: boolean;
}

export interface LineageContext {
  readonly namespace: string;
  /** Origin of the call API. */
  readonly service: string;
  readonly places: Readonly<Record<string, DatasetPlace>>;
  readonly version: string;
}

const schemaUrl = 'https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent';

/** The start and the end of the run. `endedAt`: milliseconds since the epoch; `runId`: a UUID of its own for each load. */
export const lineageEvents = (
  load: FinishedLoad,
  context: LineageContext,
  { runId, endedAt }: { readonly runId: string; readonly endedAt: number },
): readonly Record<string, unknown>[] => {
  const place = context.places[load.warehouse];
  const common = {
    producer: `urn:callsync:${context.version}`,
    schemaURL: schemaUrl,
    run: { runId },
    job: { namespace: context.namespace, name: `load.${load.warehouse}` },
    inputs: [{ namespace: context.service, name: 'calls' }],
    outputs:
      place === undefined
        ? []
        : tables
            // An update of its own keeps sync_state; loads write all else.
            .filter(({ name, kind }) => kind !== 'state' && (name !== 'documents' || place.documents))
            .map(({ name }) => ({ namespace: place.namespace, name: `${place.prefix}.${name}` })),
  };
  const at = (ms: number): string => new Date(ms).toISOString();
  return [
    { ...common, eventType: 'START', eventTime: at(endedAt - load.seconds * 1000) },
    { ...common, eventType: load.outcome === 'committed' ? 'COMPLETE' : 'FAIL', eventTime: at(endedAt) },
  ];
};
