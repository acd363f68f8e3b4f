import { strictEqual } from 'node:assert';
import { test } from 'node:test';
import { checkSession, modelOverride, sessionName } from '../../src/gateway/session-names.ts';
import { failsAs, ignore, never, open, TURN } from './support.ts';

test('a session is known by its agent and by lower-case letters [SC-81]', () => {
  strictEqual(
    sessionName({ agentId: 'ops', sessionKey: 'scheduler:Job:Run' }),
    'agent:ops:scheduler:job:run',
  );
  strictEqual(sessionName({ agentId: 'ops', sessionKey: 'agent:ops:main' }), 'agent:ops:main');
});

for (const [agentId, sessionKey] of [
  ['', 'scheduler:a'],
  ['../etc', 'scheduler:a'],
  ['a b', 'scheduler:a'],
  ['x'.repeat(65), 'scheduler:a'],
  ['main', ''],
  ['main', 'with space'],
  ['main', 'line\nbreak'],
  ['main', 'x'.repeat(513)],
  ['main', 'cron:a'],
  ['main', 'CRON:a'],
  ['main', 'agent:main:subagent:a'],
  ['main', 'acp:a'],
  ['main', 'agent:ops:scheduler:a'],
] as const) {
  test(`no turn is sent for agent ${JSON.stringify(agentId.slice(0, 20))}, session ${JSON.stringify(sessionKey.slice(0, 30))}`, async (t) => {
    const { gateway, standIn } = await open(t);
    for (const transport of ['chat', 'websocket'] as const) {
      await failsAs(
        gateway.run({ ...TURN, agentId, sessionKey }, transport, never, ignore),
        'refused',
        false,
      );
    }
    strictEqual(standIn.state.recorded.length, 0);
  });
}

test('the main session and the sessions of any agent may be used', () => {
  checkSession({ agentId: 'main', sessionKey: 'agent:main:main' });
  checkSession({ agentId: 'Ops_2', sessionKey: 'scheduler:cron:1' });
});

test('only a provider and a model override the model of the agent', async () => {
  strictEqual(modelOverride({ ...TURN, model: 'openclaw:main' }), null);
  strictEqual(modelOverride({ ...TURN, model: 'openclaw/default' }), null);
  strictEqual(modelOverride({ ...TURN, model: 'anthropic/claude-opus:1m' }), 'anthropic/claude-opus:1m');
  for (const model of ['gpt', 'openclaw:ops', 'a/b\r\nx: y']) {
    await failsAs(
      Promise.resolve().then(() => modelOverride({ ...TURN, model })),
      'refused',
      false,
    );
  }
});
