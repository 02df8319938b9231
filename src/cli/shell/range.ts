/** Time range, or length of time, in the options of a command. */
import { parseDuration } from '../../../schemas/config/values.ts';
import { instant, orRefuse, parsed, required } from './define.ts';

export const fromOption = required(parsed('--from <instant>', 'start of the range, inclusive (UTC)', instant));
export const toOption = parsed('--to <instant>', 'end of the range, exclusive (UTC); now by default', instant);

/** → milliseconds. */
export const duration = (text: string): number =>
  orRefuse(text === '0' ? 0 : parseDuration(text), 'Use a duration such as 30s, 5m or 2h.');
