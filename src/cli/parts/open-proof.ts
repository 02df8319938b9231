import { join } from 'node:path';
import type { Config } from '../../../schemas/config.ts';
import { resolveDataDir } from '../../config/data-dir.ts';
import { openOwnSecret, openSecret } from '../../lib/secret.ts';
import type { Proof } from '../../store/store.ts';
import { createProofKeys } from '../../store/windows/chain.ts';

/** The keys of the proof chain and the file of its heads. @throws CallsyncError CONFIG_SECRET, PROOF_KEY */
export const openProof = ({ store }: Pick<Config, 'store'>): Proof => {
  const dataDir = resolveDataDir(store.data_dir);
  const current =
    openSecret({ key: 'store.proof_key', file: store.proof_key_file }) ??
    openOwnSecret('store.proof_key', join(dataDir, 'proof.key'));
  const former = store.former_proof_key_files.flatMap(
    (file) => openSecret({ key: 'store.former_proof_key', file })?.readBytes() ?? [],
  );
  return {
    keys: createProofKeys(current.readBytes(), ...former),
    headsFile: store.proof_heads_file ?? join(dataDir, 'proof-heads.json'),
  };
};
