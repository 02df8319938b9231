/** The control of a simulator in another process, over its HTTP endpoint. */
import { transient } from '../../lib/errors.ts';
import type { SimulatorAddresses } from '../start-simulator.ts';
import { isList, type SimulatorControl } from './local-control.ts';

type Place = Pick<SimulatorAddresses, 'origin' | 'controlToken'>;

/**
 * Every method of the control as one request.
 * @throws transient SIMULATOR_REFUSED with the simulator's message, SIMULATOR_GONE when a list ends before its last line
 */
export const createRemoteControl = (place: Place): SimulatorControl =>
  new Proxy({} as SimulatorControl, {
    // Nothing that is awaited may have a method `then`.
    get: (_control, method: string) =>
      method === 'then'
        ? undefined
        : (...args: unknown[]) => (isList(method) ? askLines : askValue)(place, method, args),
  });

const ask = async ({ origin, controlToken }: Place, method: string, args: readonly unknown[]): Promise<Response> => {
  const response = await fetch(`${origin}/__sim/${method}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${controlToken}` },
    body: JSON.stringify(args),
  });
  if (response.ok) return response;
  throw transient('SIMULATOR_REFUSED', `The simulator refused ${method}: ${await response.text()}`);
};

const askValue = async (place: Place, method: string, args: readonly unknown[]): Promise<unknown> =>
  ((await (await ask(place, method, args)).json()) as { result?: unknown }).result;

async function* askLines(place: Place, method: string, args: readonly unknown[]): AsyncIterable<unknown> {
  const response = await ask(place, method, args);
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line);
  }
  if (rest !== '') throw transient('SIMULATOR_GONE', 'The simulator ended in the middle of an answer.');
}
