/** Receipts say which copies outlive them, and anyone can check their signature. */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WarehouseTarget } from '../../../src/pipeline/deps.ts';
import { listCopies } from '../../../src/pipeline/persons/receipt.ts';
import { isSigned } from '../../../src/store/persons/receipts.ts';
import { createProofKeys } from '../../../src/store/windows/chain.ts';
import { erase, openTestProof } from '../../support/persons.ts';
import { openPipeline, type Pipeline } from '../../support/pipeline.ts';

const proof = openTestProof();
let pipeline: Pipeline;
beforeAll(async () => {
  pipeline = await openPipeline();
});
afterAll(async () => {
  rmSync(proof.headsFile, { force: true });
  await pipeline.close();
});

test('a receipt is checked with the public key alone, and nothing in it can be changed', async () => {
  const { proof: place, ...rest } = await erase(pipeline.deps, { kind: 'call', values: ['call-1'] }, { proof });
  if (place === undefined) throw new Error('no proof');
  const receipt = JSON.parse(JSON.stringify({ ...rest, proof: place }));
  const { publicKey } = proof.keys;
  expect(publicKey).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
  expect(isSigned(receipt, publicKey)).toBe(true);
  expect(isSigned({ ...receipt, erased: 2 }, publicKey)).toBe(false);
  expect(isSigned({ ...receipt, proof: { ...place, receipt_id: 2 } }, publicKey)).toBe(false);
  expect(isSigned(receipt, createProofKeys(Buffer.from('another key of bytes')).publicKey)).toBe(false);
});

test('a receipt names tables of dbt, and what each warehouse keeps, as copies that outlive it', () => {
  const keepsDeleted = { days: 14, why: 'history of jobs' };
  const targets = [{ warehouse: { name: 'lake', keepsDeleted } }] as unknown as WarehouseTarget[];
  const copies = listCopies(targets, new Date(0));
  expect(copies.map(({ of, until }) => [of, until?.slice(0, 10) ?? null])).toEqual([
    ['store', null],
    ['dbt', null],
    ['lake', '1970-01-15'],
  ]);
});
