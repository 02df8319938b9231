/** A report with its signature, as one line of JSON and as a page. The public key is enough to check both. */

import { type KeyLike, verify } from 'node:crypto';
import { isObject, parseQuietly } from '../../lib/parse-json.ts';
import type { ProofKeys } from '../../store/windows/chain.ts';
import type { Report } from '../coverage/report.ts';
import { drawReport } from './draw-report.ts';

const envelope = (report: string, keyId: string, signature: string): string =>
  `{"report":${report},"key_id":"${keyId}","signature":"${signature}"}`;
const signedText = (report: string, keyId: string): string => JSON.stringify(['callsync report', keyId, report]);
/** Text that no element of a page ends. */
const textOf = (report: unknown): string => JSON.stringify(report).replaceAll('<', '\\u003c');

/** The report and its signature as one line of JSON. @param keys of the proof chain */
export const signReport = ({ currentId, signOpenly }: ProofKeys, report: Report): string => {
  const text = textOf(report);
  return envelope(text, currentId, signOpenly(currentId, signedText(text, currentId)) as string);
};

const opening = '<script type="application/json" id="signed">';

/** The page that holds the signed report byte for byte, and is made from nothing else. */
export const renderReport = (signed: string): string =>
  drawReport((JSON.parse(signed) as { report: Report }).report, `${opening}${signed}</script>`);

const isDrawn = (signed: string, file: string): boolean => {
  try {
    return renderReport(signed) === file;
  } catch {
    // The report of another version may lack facts that this one draws.
    return false;
  }
};

/** Checks a report, or a page with one, without a secret. Undefined = it is as it was signed; else the reason. */
export const checkReport = (file: string, publicKey: KeyLike): string | undefined => {
  const isPage = file.startsWith('<!doctype');
  const start = file.indexOf(opening) + opening.length;
  const signed = isPage ? file.slice(start, file.indexOf('</script>', start)) : file.replace(/\n$/, '');
  const read: unknown = parseQuietly(Buffer.from(signed));
  if (!isObject(read) || typeof read.key_id !== 'string' || typeof read.signature !== 'string')
    return 'The file is not a report.';
  const { report, key_id: keyId, signature } = read;
  const text = textOf(report);
  const bytes = Buffer.from(signature, 'hex');
  const isWhole = envelope(text, keyId, bytes.toString('hex')) === signed;
  if (!isWhole || !verify(null, Buffer.from(signedText(text, keyId)), publicKey, bytes))
    return 'The report was changed, or another key signed it.';
  if (isPage && !isDrawn(signed, file))
    return 'The page shows something else than its signed report, or another version of callsync made it.';
  return undefined;
};
