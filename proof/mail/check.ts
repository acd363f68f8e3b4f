/** What must hold of everything that was sent, heard and marked as read. */

import type { Batch, SentMessage, Story } from './story.ts';

const KINDS = ['constraint', 'decision', 'fact', 'task', 'preference'];
/** A message that is this old when an answer is made was there to be put into it. */
const SETTLED_MS = 3_000;

interface Known extends SentMessage {
  readonly rank: number;
}

export function checkMail(story: Story): string[] {
  const byId = new Map(
    story.messages.map((message, no) => [message.id, { ...message, rank: rankOf(message, no) }]),
  );
  return [
    ...story.batches.flatMap((batch) => checkBatch(story, byId, batch)),
    ...story.messages.flatMap((message) => checkMessage(story, message)),
  ];
}

/** Kind first, then priority, then age. */
function rankOf({ kind, priority }: SentMessage, no: number): number {
  const place = KINDS.indexOf(kind);
  return (place === -1 ? KINDS.length : place) * 1e9 - priority * 1e8 + no;
}

function checkBatch(story: Story, byId: ReadonlyMap<string, Known>, batch: Batch): string[] {
  const { agent, ids, askedAt } = batch;
  const found = ids.flatMap((id) => byId.get(id) ?? []);
  const wrong: string[] = [];
  if (found.length < ids.length) wrong.push(`${agent} got a message that nobody sent`);
  if (new Set(ids).size < ids.length)
    wrong.push(`${agent} got a message twice in one answer: ${ids.join(' ')}`);
  if (found.some(({ rank }, i) => rank < (found[i - 1]?.rank ?? -Infinity)))
    wrong.push(`${agent} got ${ids.join(' ')} out of order`);
  for (const message of found) {
    const { id, expires_at: end } = message;
    if (!recipientsOf(story, message).includes(agent)) wrong.push(`${agent} got ${id}, which was not for it`);
    // It was put into the answer after the moment at which that was asked for.
    if (end !== null && askedAt >= Date.parse(end)) wrong.push(`${agent} got ${id} after its end`);
  }
  const last = Math.max(...found.map(({ rank }) => rank));
  const passedOver = [...byId.values()].filter(
    (message) => message.rank < last && waited(story, message, batch),
  );
  wrong.push(...passedOver.map(({ id }) => `${agent} got ${ids.join(' ')} before ${id}, which matters more`));
  return wrong;
}

/** It was there for the agent when this was put together, in no other answer, and came only later. */
function waited(story: Story, message: SentMessage, batch: Batch): boolean {
  const { id, created_at: createdAt, expires_at: end } = message;
  const { agent, askedAt, at } = batch;
  if (!recipientsOf(story, message).includes(agent) || story.read.has(`${id} ${agent}`)) return false;
  if (Date.parse(createdAt) > askedAt - SETTLED_MS || (end !== null && Date.parse(end) <= at)) return false;
  const first = story.batches.find((each) => each.agent === agent && each.ids.includes(id));
  if (first !== undefined && first.askedAt <= at) return false;
  // It may have been in an answer that died with somebody.
  const until = first?.askedAt ?? story.endedAt;
  return !story.kills.some((kill) => kill >= Date.parse(createdAt) && kill <= until);
}

function recipientsOf({ agents }: Story, { to_agent: to }: SentMessage): readonly string[] {
  return to === 'broadcast' ? agents : [to];
}

function checkMessage(story: Story, message: SentMessage): string[] {
  return recipientsOf(story, message).flatMap((agent) => {
    const receipts = message.receipts.filter((receipt) => receipt.agent === agent);
    const [receipt] = receipts;
    if (receipt === undefined || receipts.length > 1)
      return [`${message.id} has not one receipt of ${agent}`];
    const seen = story.batches.filter((batch) => batch.agent === agent && batch.ids.includes(message.id));
    return [
      ...checkRead(story, message.id, receipt),
      ...checkArrival(story, message, receipt, seen),
      ...checkOnce(message.id, agent, seen),
    ];
  });
}

type Receipt = SentMessage['receipts'][number];

function checkRead({ read }: Story, id: string, { agent, read_at: at }: Receipt): string[] {
  const acknowledged = read.has(`${id} ${agent}`);
  if ((at !== null) === acknowledged) return [];
  return [
    `${id} is ${at === null ? 'not ' : ''}read by ${agent}, who has ${acknowledged ? '' : 'not '}said so`,
  ];
}

/** Whoever reads a message has it. Any other arrives with an answer or a prompt that was heard, unless it runs out. */
function checkArrival(
  { read, endedAt }: Story,
  { id, expires_at: end }: SentMessage,
  { agent, delivered_at: delivered }: Receipt,
  seen: readonly Batch[],
): string[] {
  if (delivered !== null)
    return seen.length > 0 || read.has(`${id} ${agent}`)
      ? []
      : [`${id} counts as delivered, and ${agent} never got it`];
  if (seen.some(({ accepted }) => accepted))
    return [`${agent} has ${id}, and it does not count as delivered`];
  return end === null || Date.parse(end) > endedAt ? [`${id} never reached ${agent}`] : [];
}

/** It may come again only while the server cannot know that it has come. */
function checkOnce(id: string, agent: string, seen: readonly Batch[]): string[] {
  const again = seen.slice(1);
  return again.flatMap((later, i) => {
    const before = seen
      .slice(0, i + 1)
      .find(({ accepted, carrier }) => accepted || carrier === later.carrier);
    return before === undefined
      ? []
      : [`${agent} got ${id} twice, with ${before.carrier} and ${later.carrier}`];
  });
}
