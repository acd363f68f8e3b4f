/** `spine mcp`: an MCP server for programs that start one of their own, and the entries that name it. */

import type { Handler } from '../command.ts';
import { usage } from '../failure.ts';
import type { Output } from '../host.ts';
import { AGENT } from '../session.ts';
import { Relay } from '../mcp/relay.ts';

/** As long as a request may be on the way to the server, and more than one is read of a line. */
const LINE_CHARS = 134_217_728;

export const serveMcp: Handler = async (session) => {
  const { stdin, stdout } = session.host;
  const caller = await session.caller([AGENT]);
  const ending = new AbortController();
  const end = (): void => ending.abort(session.signal.reason);
  session.signal.addEventListener('abort', end, { once: true });
  const relay = new Relay(caller, ending.signal, async (line) => {
    if (!stdout.write(line)) await drained(stdout, ending.signal);
  });
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of untilAborted(stdin, session.signal)) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LINE_CHARS) throw usage('A line on standard input is too long to be a message.');
    for (const line of lines) if (line.trim() !== '') await relay.take(line);
  }
  // Whoever has closed the input reads no answer: what was claimed for it is given back.
  end();
  await relay.end();
};

/** A client that does not read has no more answers made for it; nor are they kept here. */
async function drained(output: Output, ending: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    output.once('drain', resolve);
    ending.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A loop over the input would not see the signal while it waits for a line. */
async function* untilAborted<T>(input: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const aborted = new Promise<null>((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener('abort', () => resolve(null), { once: true });
  });
  const reader = input[Symbol.asyncIterator]();
  for (;;) {
    const next = await Promise.race([reader.next(), aborted]);
    if (next === null || next.done === true) return;
    yield next.value;
  }
}
