/** How a work is refused: `terminal CODE: message hint`. */
export const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(() => 'not refused').catch(({ kind, code, message, hint }) => `${kind} ${code}: ${message} ${hint}`);
