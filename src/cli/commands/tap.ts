import { type Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../../../schemas/config/duration.ts';
import { openTap, type TapEvent } from '../../source/websocket/tap.ts';
import { storeFrame } from '../../store/delivery/websocket-frames.ts';
import { openPrivacy } from '../parts/open-privacy.ts';
import { claimSource, openSource } from '../parts/open-source.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withStore } from '../shell/command.ts';

const describe = (event: TapEvent): string => {
  switch (event.kind) {
    case 'opened':
      return `Open (connection ${event.connection}, token ${Math.round(event.tokenAgeMs / 1000)} s old).`;
    case 'closed':
      return `Connection ${event.connection} ended: ${event.explanation}.`;
    default:
      return `${event.explanation} Trying again in ${Math.round(event.retryInMs / 1000)} s.`;
  }
};

const duration = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Use a duration such as 30s or 2h.');
  return ms;
};

const run = (options: CommonOptions & { readonly for?: number }): Promise<void> =>
  withStore(options, async (store, services) => {
    await claimSource(store, services.config);
    const source = openSource(services, store);
    const stop = new AbortController();
    const { stopped } = untilStopped();
    void stopped.then(() => stop.abort());
    // Not AbortSignal.timeout within AbortSignal.any: Node 20 may collect that timer before it fires.
    const timer = options.for === undefined ? undefined : setTimeout(() => stop.abort(), options.for);
    const privacy = openPrivacy(services.config);
    const session = new Date().toISOString();
    const result = await openTap({
      config: services.config.source.websocket,
      tokens: source.tokens,
      signal: stop.signal,
      onEvent: (event) => services.say(describe(event)),
      onFrame: ({ at, binary, body, connection }) =>
        storeFrame(store, {
          session: `${session}/${connection}`,
          receivedAt: at,
          binary,
          body: privacy?.admit(body).body ?? body,
        }),
    }).finally(() => clearTimeout(timer));
    print(
      options,
      { session, ...result },
      `${result.frames} frames (${result.bytes} bytes) over ${result.connections} connections are in callsync.websocket_frames, session ${session}.`,
    );
  });

export const addTap = (command: Command): void => {
  withCommonOptions(command)
    .option('--for <duration>', 'end after this long, such as 30s', duration)
    .addHelpText(
      'after',
      `
Examples:
  callsync tap --for 5m

Needs source.websocket.url. Frames are stored in the table callsync.websocket_frames; the interface does not show what they mean.`,
    )
    .action(run);
};
