/** Whoever waits for an answer may go, or may no longer be allowed to have it. */

import { SpineError } from '../domain/error.ts';
import { isStill } from './auth.ts';
import type { Call } from './routes.ts';

/**
 * Ends a wait whose caller has gone, or may not call any more. The request's own "close" comes as soon as its body was
 * read; the reply's comes with the connection's end.
 */
export function goneSignal({ actor, engine, callers, request, reply, gone: given }: Call): AbortSignal {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  const judge = (): Promise<boolean> => isStill(actor, callers, request.raw);
  const forget = engine.tokens.onChange(() => {
    // Whoever cannot be judged gets nothing.
    void judge().then(
      (may) => may || gone.abort(new SpineError('unauthorized')),
      () => gone.abort(new SpineError('unauthorized')),
    );
  });
  if (given?.aborted) leave();
  given?.addEventListener('abort', leave, { once: true });
  reply.raw.once('close', () => {
    forget();
    leave();
  });
  return gone.signal;
}

/** Whoever may not call any more is told so, and not what he waited for. */
export function refuseRevoked({ reason }: AbortSignal): void {
  if (reason instanceof SpineError) throw reason;
}
