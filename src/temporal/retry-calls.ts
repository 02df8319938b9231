/**
 * The SDK's repeating of calls that failed, made to end with the connection: left to itself it comes for a closed one after its pause,
 * which throws where nobody can catch it and ends the process.
 */
import { type ConnectionOptions, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Parameters<Interceptor>[1]>;

/** The status of gRPC for what its caller gave up; it is not repeated. */
const cancelled = 1;

/** Ends as soon as it starts. */
const endedCall = (): Pick<Call, 'start' | 'sendMessage' | 'halfClose'> => ({
  start: (metadata, listener) =>
    listener?.onReceiveStatus?.({ code: cancelled, details: 'The connection was closed.', metadata }),
  sendMessage: () => undefined,
  halfClose: () => undefined,
});

const repeating = makeGrpcRetryInterceptor(defaultGrpcRetryOptions());

/** The first call of a closed connection throws to whoever makes it; one that is repeated ends as cancelled. */
export const repeatWhileOpen: Interceptor = (options, nextCall) => {
  let isFirst = true;
  return repeating(options, (own) => {
    if (isFirst) {
      isFirst = false;
      return nextCall(own);
    }
    try {
      return nextCall(own);
    } catch {
      return endedCall() as Call;
    }
  });
};
