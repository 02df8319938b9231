/** Remarks for people while a command runs. */

/** Progress and remarks for people go to standard error, so that standard output holds results alone. */
export const say = (message: string): void => {
  process.stderr.write(`${message}\n`);
};
