import { openPrivacy } from '../../app/open-rules.ts';
import { claimSource, openSource } from '../../app/open-source.ts';
import { withStore } from '../../app/services.ts';
import { openFrames, type StreamEvent } from '../../source/frames.ts';
import { storeFrame } from '../../store/delivery/quarantine.ts';
import { leaf } from '../shell/define.ts';
import { untilStopped } from '../shell/output.ts';

const describe = (event: StreamEvent): string => {
  if (event.kind === 'opened')
    return `Open (connection ${event.connection}, token ${Math.round(event.tokenAgeMs / 1000)} s old).`;
  if (event.kind === 'closed') return `Connection ${event.connection} ended: ${event.explanation}.`;
  return `${event.explanation} Trying again in ${Math.round(event.retryInMs / 1000)} s.`;
};

export default leaf({
  examples: ['callsync frames', 'timeout -s INT 5m callsync frames'],
  remarks: 'Needs source.websocket.url. callsync stores frames as they are in the table callsync.websocket_frames.',
  within: withStore,
  run: async (_options, store, services) => {
    await claimSource(store, services.config);
    const source = openSource(services, store);
    const privacy = openPrivacy(services.config);
    const session = new Date().toISOString();
    const result = await openFrames({
      config: services.config.source.websocket,
      tokens: source.tokens,
      signal: untilStopped().signal,
      onEvent: (event) => services.say(describe(event)),
      onFrame: ({ at: receivedAt, binary, body, connection }) =>
        storeFrame(store, {
          session: `${session}/${connection}`,
          receivedAt,
          binary,
          body: privacy?.admit(body).body ?? body,
        }),
    });
    return [
      { session, ...result },
      `${result.frames} frames (${result.bytes} bytes) over ${result.connections} connections are in callsync.websocket_frames, session ${session}.`,
    ];
  },
});
