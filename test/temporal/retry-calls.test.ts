import { Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { repeatWhileOpen } from '../../src/temporal/connect.ts';
import { closedPort } from '../support/closed-port.ts';

test('a call that waits to be repeated ends with its connection', async () => {
  const connection = Connection.lazy({
    address: `127.0.0.1:${closedPort}`,
    interceptors: [
      (options, nextCall) =>
        repeatWhileOpen(options, (own) => {
          const call = nextCall(own);
          const start = call.start.bind(call);
          // Once an attempt has failed, before the next one.
          call.start = (metadata, listener) =>
            start(metadata, {
              onReceiveMessage: (message) => listener?.onReceiveMessage?.(message),
              onReceiveStatus(status) {
                listener?.onReceiveStatus?.(status);
                void connection.close();
              },
            });
          return call;
        }),
    ],
  });
  await expect(connection.workflowService.getSystemInfo({})).rejects.toThrow(/The connection was closed/);
});
