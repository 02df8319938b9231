/** A key of tombstones and an erasure log in a folder of the test's own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noRules } from '../../src/calls/fold.ts';
import { openSubjects } from '../../src/persons/subjects.ts';
import { openErasureLog } from '../../src/store/erasure-log.ts';
import { createProofKeys } from '../../src/store/windows/chain.ts';

const key = Buffer.from('a key of tombstones for tests');
const proofKeys = createProofKeys(Buffer.from('a key of the proof chain'));
/** As rules of a profile that redacts transcripts have it. */
const subjects = openSubjects({ countries: ['FR'], leavesSpeech: (rules) => rules === null || rules === noRules });

export const createErasures = () => {
  const folder = mkdtempSync(join(tmpdir(), 'callsync-erasures-'));
  const file = join(folder, 'erasures.log');
  const proof = { keys: proofKeys, headsFile: join(folder, 'heads.json') };
  return {
    file,
    open: () => ({ key, log: openErasureLog(file), subjects, proof }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
};
