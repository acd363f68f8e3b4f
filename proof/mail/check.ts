/** What must hold of everything that was sent, heard and marked as read. */

export interface SentMessage {
  readonly id: string;
  readonly to_agent: string;
  readonly from_agent: string;
  readonly kind: string;
  readonly priority: number;
  readonly status: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly receipts: readonly {
    readonly agent: string;
    readonly delivered_at: string | null;
    readonly read_at: string | null;
  }[];
}

/** Messages that an agent got with one answer or prompt. */
export interface Batch {
  readonly agent: string;
  readonly at: number;
  readonly ids: readonly string[];
}

export interface Story {
  /** Oldest first. */
  readonly messages: readonly SentMessage[];
  readonly agents: readonly string[];
  readonly batches: readonly Batch[];
  /** When the server was killed, and when each agent was. */
  readonly serverKills: readonly number[];
  readonly agentKills: Readonly<Record<string, readonly number[]>>;
  /** What was acknowledged, as `<message> <agent>`. */
  readonly read: ReadonlySet<string>;
}

const KINDS = ['constraint', 'decision', 'fact', 'task', 'preference'];
/** From the server's answer to the line in the ledger, on a machine that has other work too. */
const SLACK_MS = 3_000;

export function checkMail(story: Story): string[] {
  const byId = new Map(story.messages.map((message, no) => [message.id, { ...message, no }]));
  const violations: string[] = [];
  for (const { agent, ids, at } of story.batches) {
    const found = ids.flatMap((id) => byId.get(id) ?? []);
    if (found.length < ids.length) violations.push(`${agent} got a message that nobody sent`);
    const keys = found.map(({ kind, priority, no }) => rankOf(kind) * 1e9 - priority * 1e8 + no);
    if (keys.some((key, i) => key < (keys[i - 1] ?? -Infinity)))
      violations.push(`${agent} got ${ids.join(' ')} out of order`);
    for (const { id, expires_at: end } of found)
      if (end !== null && at > Date.parse(end) + SLACK_MS)
        violations.push(`${agent} got ${id} after its end`);
  }
  for (const message of story.messages) violations.push(...checkOne(story, message));
  return violations;
}

function rankOf(kind: string): number {
  const rank = KINDS.indexOf(kind);
  return rank === -1 ? KINDS.length : rank;
}

function checkOne(story: Story, message: SentMessage): string[] {
  const violations: string[] = [];
  const { id, receipts, expires_at: end } = message;
  const expected = message.to_agent === 'broadcast' ? story.agents : [message.to_agent];
  const wasStillborn = end !== null && Date.parse(end) <= Date.parse(message.created_at);
  for (const agent of expected)
    if (receipts.filter((receipt) => receipt.agent === agent).length !== 1)
      violations.push(`${id} has not one receipt of ${agent}`);
  for (const agent of story.agents) {
    const seen = story.batches
      .filter((batch) => batch.agent === agent && batch.ids.includes(id))
      .map(({ at }) => at);
    if (seen.length > 0 && !expected.includes(agent))
      violations.push(`${agent} got ${id}, which was not for it`);
    if (seen.length > 0 && wasStillborn)
      violations.push(`${agent} got ${id}, which had run out when it was sent`);
  }
  for (const { agent, delivered_at: delivered, read_at: read } of receipts) {
    if (!story.agents.includes(agent)) continue;
    violations.push(
      ...checkRecipient(story, message, agent, delivered === null ? null : Date.parse(delivered)),
    );
    if ((read !== null) !== story.read.has(`${id} ${agent}`))
      violations.push(`${id} is ${read === null ? 'not ' : ''}read by ${agent}`);
  }
  return violations;
}

function checkRecipient(
  story: Story,
  { id, expires_at: end }: SentMessage,
  agent: string,
  delivered: number | null,
) {
  const wasRead = story.read.has(`${id} ${agent}`);
  const seen = story.batches
    .filter((batch) => batch.agent === agent && batch.ids.includes(id))
    .map(({ at }) => at)
    .toSorted((a, b) => a - b);
  if (delivered === null) return end === null ? [`${id} never reached ${agent}`] : [];
  if (seen.length === 0) return wasRead ? [] : [`${id} counts as delivered, and ${agent} never got it`];
  const violations: string[] = [];
  // Whoever got it and died, or could not say so, is excused; nobody else gets it twice.
  const kills = [...story.serverKills, ...(story.agentKills[agent] ?? [])];
  for (const [i, at] of seen.entries()) {
    const before = seen[i - 1];
    if (before !== undefined && !kills.some((kill) => kill >= before - SLACK_MS && kill <= at))
      violations.push(`${agent} got ${id} twice, and nobody had died`);
    if (!wasRead && at > delivered + SLACK_MS) violations.push(`${agent} got ${id} after it had arrived`);
  }
  return violations;
}
