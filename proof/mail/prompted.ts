/** What stood in prompts that a gateway took. */

import type { StandIn } from '../../test/support/gateway/stand-in.ts';
import type { Batch } from './story.ts';

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const AT_LINE_END = /\| ([0-9a-f-]{36})$/gm;

export interface Run {
  readonly status: string;
  readonly started_at: string | null;
}

interface About {
  /** The ids of all messages: other text may look like one. */
  readonly known: ReadonlySet<string>;
  /** Prompts of turns that failed: they have swallowed nothing. */
  readonly refused: ReadonlySet<string>;
  readonly runOf: (id: string) => Promise<Run>;
}

/** A run that ended well had its turn accepted, the last one where it needed several. */
export async function turnsOf(gateway: StandIn, { known, refused, runOf }: About): Promise<Batch[]> {
  const turns = gateway.requests('/v1/chat/completions').map(({ headers, body, at }) => ({
    agent: String(headers['x-openclaw-agent-id']),
    run: String(headers['x-openclaw-session-key']).match(UUID)?.at(-1) ?? 'none',
    text: (body as { messages: { content: string }[] }).messages[0]?.content ?? '',
    at,
  }));
  const lastOf = new Map(turns.map((turn) => [turn.run, turn]));
  const batches: Batch[] = [];
  for (const turn of turns) {
    const ids = [...turn.text.matchAll(AT_LINE_END)].flatMap(([, id = '']) => (known.has(id) ? [id] : []));
    if (refused.has(turn.text) || ids.length === 0) continue;
    const { agent, run, at } = turn;
    const { status, started_at: startedAt } = await runOf(run);
    const askedAt = startedAt === null ? at : Date.parse(startedAt);
    const accepted = lastOf.get(run) === turn && status === 'ok';
    batches.push({ agent, carrier: `run ${run} at ${at}`, askedAt, at, ids, accepted });
  }
  return batches;
}
