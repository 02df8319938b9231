/** Typed search attributes: kind of work, axis and warehouse of a workflow. No call data. */
import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair, TypedSearchAttributes } from '@temporalio/common';
import proto from '@temporalio/proto';

const keys = {
  kind: defineSearchAttributeKey('CallsyncKind', 'KEYWORD'),
  axis: defineSearchAttributeKey('CallsyncAxis', 'KEYWORD'),
  warehouse: defineSearchAttributeKey('CallsyncWarehouse', 'KEYWORD'),
};

export interface WorkflowFacts {
  readonly kind: 'backfill' | 'merge' | 'load' | 'reconcile' | 'sync' | 'sweep' | 'reread' | 'erase';
  readonly axis?: string;
  readonly warehouse?: string;
}

const registered = new WeakMap<Client, Promise<boolean>>();

/**
 * Asks the server for the attributes once per client. False if that is forbidden (Temporal Cloud has its own CLI).
 */
const register = async (client: Client): Promise<boolean> => {
  const { namespace } = client.options;
  const wanted = Object.values(keys).map((key) => key.name);
  try {
    await client.connection.operatorService?.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(
        wanted.map((name) => [name, proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD]),
      ),
    });
    return true;
  } catch {
    const found = await client.connection.workflowService.getSearchAttributes({}).catch(() => undefined);
    return wanted.every((name) => name in (found?.keys ?? {}));
  }
};

/** Start options that carry the facts; empty where the server does not know the attributes. */
export const searchAttributesFor = async (client: Client, facts: WorkflowFacts) => {
  const known = registered.get(client) ?? register(client);
  registered.set(client, known);
  if (!(await known)) return {};
  const pairs = (Object.keys(keys) as (keyof typeof keys)[])
    .filter((name) => facts[name] !== undefined)
    .map((name) => ({ key: keys[name], value: facts[name] as string }));
  return { typedSearchAttributes: new TypedSearchAttributes(pairs as SearchAttributePair[]) };
};
