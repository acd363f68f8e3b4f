import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkMail } from '../../proof/mail/check.ts';
import { planted } from '../../proof/mail/planted.ts';
import type { Batch, SentMessage, Story } from '../../proof/mail/story.ts';

const START = Date.parse('2026-03-01T12:00:00Z');

/** Two agents; anna is killed once with what nobody had confirmed yet, and one message runs out unheard. */
const RECORDED: Story = {
  agents: ['anna', 'ben'],
  messages: [
    message('m1', 'anna', { kind: 'text' }, 4),
    message('m2', 'anna', { kind: 'constraint' }, 4),
    message('m3', 'broadcast', { kind: 'fact' }, 9),
    message('m4', 'ben', { expires_at: at(60) }, 9),
    message('m5', 'ben', { expires_at: at(1) }, null),
    { ...message('m6', 'ben', {}, 5), receipts: [receipt('ben', 5, 5)] },
  ],
  batches: [
    batch('anna', 'a1', 2, ['m2', 'm1'], false),
    batch('anna', 'a2', 4, ['m2', 'm1']),
    batch('anna', 'a3', 8, ['m3']),
    batch('ben', 'b1', 8, ['m3', 'm4']),
  ],
  kills: [START + 3_000],
  read: new Set(['m6 ben']),
  endedAt: START + 30_000,
};

test('the checker of mail is content with a history in which all is well [SC-68 SC-69 SC-70]', () => {
  assert.deepEqual(checkMail(RECORDED), []);
});

for (const { fault, says, story } of planted(RECORDED))
  test(`the checker of mail finds a message ${fault} [SC-33 SC-68 SC-69 SC-70]`, () => {
    assert.ok(story, 'the history has nothing to plant this in');
    assert.match(checkMail(story).join('\n'), says);
  });

test('what was confirmed may not come again, even when its agent was killed [SC-68]', () => {
  const batches = RECORDED.batches.map((each) => ({ ...each, accepted: true }));
  assert.match(checkMail({ ...RECORDED, batches }).join('\n'), /anna got m2 twice, with a1 and a2/);
});

test('what matters more may not be passed over for what matters less [SC-33 row 38]', () => {
  const [a1, , ...others] = RECORDED.batches;
  assert.ok(a1);
  const late = [batch('anna', 'a2', 4, ['m1']), batch('anna', 'a4', 12, ['m2'])];
  const story = { ...RECORDED, kills: [], batches: [...late, ...others].toSorted((a, b) => a.at - b.at) };
  assert.match(checkMail(story).join('\n'), /anna got m1 before m2, which matters more/);
});

test('what an agent has heard and confirmed counts as delivered [SC-68]', () => {
  const messages = RECORDED.messages.map((each) => ({
    ...each,
    receipts: each.receipts.map((one) => ({ ...one, delivered_at: null })),
  }));
  assert.match(checkMail({ ...RECORDED, messages }).join('\n'), /it does not count as delivered/);
});

function at(seconds: number): string {
  return new Date(START + seconds * 1_000).toISOString();
}

function receipt(agent: string, delivered: number | null, read: number | null = null) {
  const orNull = (seconds: number | null) => (seconds === null ? null : at(seconds));
  return { agent, delivered_at: orNull(delivered), read_at: orNull(read) };
}

function message(id: string, to: string, more: Partial<SentMessage>, deliveredS: number | null): SentMessage {
  const agents = to === 'broadcast' ? ['anna', 'ben'] : [to];
  return {
    id,
    to_agent: to,
    from_agent: 'head',
    kind: 'text',
    priority: 0,
    status: 'delivered',
    created_at: at(-10),
    expires_at: null,
    receipts: agents.map((agent) => receipt(agent, deliveredS)),
    ...more,
  };
}

function batch(agent: string, carrier: string, heardS: number, ids: string[], accepted = true): Batch {
  const heardAt = START + heardS * 1_000;
  return { agent, carrier, askedAt: heardAt - 100, at: heardAt, ids, accepted };
}
