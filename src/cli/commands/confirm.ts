/** Asks before something that cannot be undone. Only a person at a terminal is asked: a program meant what it said. */

import { CliError, EXIT } from '../failure.ts';
import type { Session } from '../session.ts';

export async function confirm(session: Session, question: string, yes: boolean | undefined): Promise<void> {
  const { stdin, stderr } = session.host;
  if (yes || session.flags.input === false || !stdin.isTTY || !stderr.isTTY) return;
  stderr.write(`${question} [y/N] `);
  const answer = await firstLine(session);
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new CliError(EXIT.failure, 'declined', 'Nothing was done.');
}

function firstLine({ host: { stdin }, signal }: Session): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const done = (): void => {
      stdin.off('data', take);
      stdin.pause();
      resolve(text);
    };
    const take = (chunk: Uint8Array | string): void => {
      text += Buffer.from(chunk).toString('utf8');
      if (text.includes('\n')) done();
    };
    signal.addEventListener('abort', done, { once: true });
    stdin.on('data', take);
    stdin.resume();
  });
}
