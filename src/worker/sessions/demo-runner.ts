/** Sessions without any agent, to try things out: each says what it was asked and is done. */

import type { Say, Session, SessionOrder, SessionRunner } from './session.ts';

const SHOWN_CHARS = 200;

export const demoRunner: SessionRunner = {
  name: 'demo',
  hasEnvironment: true,
  begin: async (order: SessionOrder, say: Say): Promise<Session> => {
    const asked = /\*\*Task Title\*\*: (.*)/.exec(order.prompt)?.[1] ?? order.prompt;
    const text = `Demo session: nothing was done about "${asked.slice(0, SHOWN_CHARS)}".`;
    say(text, 'info');
    const end = { ok: true, text, reason: null, facts: { demo: true } } as const;
    return { ended: Promise.resolve(end), kill: async () => undefined };
  },
  endLeftover: async () => undefined,
};
