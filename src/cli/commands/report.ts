import { writeFile } from 'node:fs/promises';
import { openProof } from '../../app/open-rules.ts';
import { withStore } from '../../app/services.ts';
import { isProven, readReport } from '../../health/coverage/report.ts';
import { checkReport, renderReport, signReport } from '../../health/page/signed-report.ts';
import { terminal } from '../../lib/errors.ts';
import { readVersion } from '../../lib/find-built.ts';
import { nowMicros } from '../../lib/timestamps.ts';
import { describeAltered } from '../../store/windows/verdicts.ts';
import { argument, group, leaf, orRefuse, parsed, required } from '../shell/define.ts';
import { lines } from '../shell/output.ts';
import { publicKeyOption, readSigned } from '../shell/signed.ts';

/** Start and end of a month such as 2026-10, in microseconds. */
const monthOf = (text: string): { from: number; to: number } => {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  const start = (more: number): number => Date.UTC(Number(year), Number(month) - 1 + more) * 1000;
  return orRefuse(year === undefined ? undefined : { from: start(0), to: start(1) }, 'Use a month such as 2026-10.');
};

export default group({
  standard: 'create',
  commands: {
    create: leaf({
      does: 'write the report of a month into this folder, as JSON and as one HTML page, both signed',
      options: {
        month: required(parsed('--month <month>', 'month in UTC, such as 2026-10', monthOf)),
      },
      examples: ['callsync report --month 2026-10'],
      within: withStore,
      run: async ({ month }, store, { config }) => {
        const now = nowMicros();
        const range = { from: month.from, to: Math.min(month.to, now) };
        if (range.from >= range.to) throw terminal('USAGE_RANGE', 'The month has not begun.');
        await store.checkKeys();
        const altered = await describeAltered(store, range);
        if (altered !== undefined) throw terminal('PROOF_ALTERED', `The report is not signed. ${altered}`);
        const warehouses = Object.keys(config.warehouses);
        const report = await readReport(store, { range, warehouses, version: readVersion(), now });
        const signed = signReport(openProof(config).keys, report);
        const files = ['json', 'html'].map((kind) => `callsync-report-${report.month}.${kind}`);
        const texts = [`${signed}\n`, renderReport(signed)];
        for (const [index, file] of files.entries()) await writeFile(file, texts[index] as string);
        const proven = report.days.filter(isProven).length;
        return [{ files, ...report }, lines(`${proven} of ${report.days.length} days are proven.`, files)];
      },
    }),
    verify: leaf({
      does: 'check the signature of a report; needs no configuration and no secret',
      args: [argument('<file>', 'the JSON or the page')],
      options: { publicKey: publicKeyOption },
      shared: 'json',
      examples: ['callsync report verify callsync-report-2026-10.html --public-key callsync.pem'],
      remarks: 'Exit code 5: the report was changed. A page is checked by the version of callsync that made it.',
      run: async (file, { publicKey }) => {
        const { bytes, key } = await readSigned('report', file, publicKey);
        const text = bytes.toString();
        const isText = Buffer.from(text).equals(bytes);
        const wrong = isText ? checkReport(text, key) : 'The file is no UTF-8 text.';
        if (wrong === undefined) return [{ signed: true }, 'The report was signed by the holder of this key.'];
        return [{ signed: false, wrong }, wrong, 'incomplete'];
      },
    }),
  },
});
