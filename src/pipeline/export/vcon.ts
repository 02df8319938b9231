/** One vCon a line. */
import { infinityAsText } from '../../calls/values.ts';
import { toVcon, type VconUnits } from '../../calls/vcon.ts';
import { openLines } from './lines.ts';
import type { ExportWriter } from './writer.ts';

export const createVconWriter = (folder: string, units: VconUnits): ExportWriter => {
  const file = openLines(folder, 'calls.vcon.ndjson');
  return {
    async write(row) {
      const vcon = toVcon(row, units);
      if (vcon !== undefined) await file.write(JSON.stringify(vcon, infinityAsText));
    },
    finish: () => file.finish(),
  };
};
