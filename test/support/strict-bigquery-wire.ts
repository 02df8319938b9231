/** The subject of a request to BigQuery: the job, table and statement in it. */
import type { IncomingMessage } from 'node:http';

export interface WireError {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

export interface Arrival {
  readonly method: string;
  readonly url: string;
  readonly project: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  readonly dryRun: boolean;
  readonly job?: {
    readonly id: string;
    /** `script` changes something, `query` only reads. */
    readonly kind: 'load' | 'script' | 'query';
    readonly sql: string;
    readonly destination: string | undefined;
    readonly createDisposition: string | undefined;
  };
  readonly media?: { readonly before: Buffer; readonly bytes: Buffer; readonly after: Buffer };
  readonly made?: { readonly name: string; readonly staging: boolean; readonly expirationTime: string | null };
  readonly dropped?: string;
}

export const parseArrival = async (request: IncomingMessage): Promise<Arrival> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const url = request.url ?? '/';
  const method = request.method ?? 'GET';
  const type = request.headers['content-type'];
  const path = /^(?:\/upload)?\/bigquery\/v2\/projects\/([^/]+)(\/[^?]*)?/.exec(url);
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  const base = { method, url, project: path?.[1] ?? '', headers, body, dryRun: false };
  const rest = path?.[2] ?? '';
  if (method === 'POST' && rest === '/jobs') return { ...base, ...parseJob(url, type ?? '', body) };
  return { ...base, ...parseTableRequest(method, rest, body) };
};

interface JobBody {
  readonly jobReference?: { readonly jobId?: string };
  readonly configuration: {
    readonly dryRun?: boolean;
    readonly query?: { readonly query: string };
    readonly load?: {
      readonly createDisposition?: string;
      readonly destinationTable: { readonly datasetId: string; readonly tableId: string };
    };
  };
}

const parseJob = (url: string, type: string, body: Buffer): Pick<Arrival, 'dryRun' | 'job' | 'media'> => {
  const media = url.startsWith('/upload') ? splitMultipart(type, body) : undefined;
  const { jobReference, configuration } = JSON.parse((media?.json ?? body).toString()) as JobBody;
  const sql = configuration.query?.query ?? '';
  const target = configuration.load?.destinationTable;
  return {
    dryRun: configuration.dryRun === true,
    job: {
      id: jobReference?.jobId ?? `unnamed_${Math.random()}`,
      kind: target !== undefined ? 'load' : changedTables(sql).length > 0 ? 'script' : 'query',
      sql,
      destination: target === undefined ? undefined : `${target.datasetId}.${target.tableId}`,
      createDisposition: configuration.load?.createDisposition,
    },
    ...(media === undefined ? {} : { media }),
  };
};

const splitMultipart = (type: string, body: Buffer): { json: Buffer; before: Buffer; bytes: Buffer; after: Buffer } => {
  const boundary = `--${/boundary=([^;]+)/.exec(type)?.[1] ?? ''}`;
  const jsonStart = body.indexOf('\r\n\r\n') + 4;
  const second = body.indexOf(`\r\n${boundary}`, jsonStart);
  const mediaStart = body.indexOf('\r\n\r\n', second + 2) + 4;
  const mediaEnd = body.lastIndexOf(`\r\n${boundary}--`);
  return {
    json: body.subarray(jsonStart, second),
    before: body.subarray(0, mediaStart),
    bytes: body.subarray(mediaStart, mediaEnd),
    after: body.subarray(mediaEnd),
  };
};

/** Tables (`dataset.table`) that the statements of a script change. */
export const changedTables = (sql: string): string[] => {
  const statement = /\b(?:INSERT INTO|MERGE|DELETE FROM|UPDATE)\s+`?(?:[\w-]+\.)?(\w+\.\w+)`?/gi;
  return [...new Set([...sql.matchAll(statement)].map((match) => match[1] as string))];
};

const parseTableRequest = (method: string, path: string, body: Buffer) => {
  const tables = /^\/datasets\/(\w+)\/tables(?:\/(\w+))?$/.exec(path);
  if (tables === null) return {};
  const [, dataset, table] = tables;
  if (method === 'DELETE') return { dropped: `${dataset}.${table}` };
  if (method !== 'POST') return {};
  const made = JSON.parse(body.toString()) as { tableReference: { tableId: string }; expirationTime?: string };
  const { tableId } = made.tableReference;
  return {
    made: {
      name: `${dataset}.${tableId}`,
      staging: tableId.includes('staging'),
      expirationTime: made.expirationTime ?? null,
    },
  };
};
