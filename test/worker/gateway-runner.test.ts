import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { AskAndWait, JobFailure, JobInterrupted, PutOff } from '../../src/client/index.ts';
import type { ClaimedJob } from '../../src/client/index.ts';
import { GatewayError } from '../../src/gateway/gateway.ts';
import { GatewayRunner } from '../../src/worker/gateway-runner.ts';
import { claimedJob } from '../client/support.ts';
import { FakeClock, rest } from '../support/clock.ts';
import { heldLease, MemoryLog, MemoryNotes, planOf, platformOf, runJob, SCHEDULE_ID } from './fixtures.ts';
import { ABSENT, ENDED, failed, running, ScriptedGateway, UNKNOWN } from './scripted-gateway.ts';

function setUp() {
  const clock = new FakeClock();
  const gateway = new ScriptedGateway();
  const notes = new MemoryNotes();
  const log = new MemoryLog();
  const trouble: string[] = [];
  const runner = new GatewayRunner({
    gateway,
    platform: platformOf(clock),
    notes,
    log,
    staleThresholdMs: 90_000,
    checkMs: 30_000,
    onTrouble: () => trouble.push('trouble'),
  });
  const start = (job: ClaimedJob) => {
    const lease = heldLease();
    const end = runner.run(job, lease.context).then(
      (result) => ({ result, error: null }),
      (error: unknown) => ({ result: null, error }),
    );
    return { ...lease, end };
  };
  return { clock, gateway, notes, log, trouble, runner, start };
}

const ONCE = planOf();
const AGAIN = planOf({ delivery_guarantee: 'at-least-once' });

function failure(error: unknown): JobFailure {
  assert.ok(error instanceof JobFailure, String(error));
  return error;
}

suite('a fresh turn', () => {
  test('is written down before it is sent, under scheduler:<job>:<run>, and its answer is the result [SC-81]', async () => {
    const { gateway, notes, start } = setUp();
    gateway.onRun = () => notes.written.push('sent');
    const { end } = start(
      runJob(planOf({ agent_id: 'ops', payload_model: 'a/b', payload_thinking: 'high' })),
    );
    await rest();
    assert.deepEqual(notes.written, ['begin', 'sent']);
    const { turn, transport, answer } = gateway.turns[0] ?? assert.fail('no turn');
    assert.equal(transport, 'websocket');
    assert.equal(turn.agentId, 'ops');
    assert.equal(turn.sessionKey, `scheduler:${SCHEDULE_ID}:run-1`);
    assert.equal(notes.note?.sessionKey, turn.sessionKey);
    assert.equal(notes.note?.transport, 'websocket');
    assert.match(notes.note?.contextSummary ?? '', /"messages_injected":0/);
    assert.deepEqual([turn.model, turn.thinking, turn.timeoutMs], ['a/b', 'high', null]);
    assert.ok(turn.message.startsWith(`[scheduler:${SCHEDULE_ID} nightly]\n`));
    assert.ok(turn.message.endsWith('\n\nDo it.'));
    answer('we fixed the rate limit bug, all good');
    assert.deepEqual(await end, {
      result: {
        text: 'we fixed the rate limit bug, all good',
        usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 },
        sessionKey: `scheduler:${SCHEDULE_ID}:run-1`,
      },
      error: null,
    });
  });

  test('takes the session that its schedule prefers', async () => {
    const { gateway, start } = setUp();
    gateway.onRun = ({ answer }) => answer('ok');
    await start(runJob(planOf({ preferred_session_key: 'agent:main:desk' }))).end;
    assert.equal(gateway.turns[0]?.turn.sessionKey, 'agent:main:desk');
  });

  for (const kind of ['down', 'draining'] as const) {
    test(`that a gateway which is ${kind} did not take is put off, and leaves no note`, async () => {
      const { gateway, notes, trouble, start } = setUp();
      gateway.onRun = ({ fail }) => fail(failed(kind));
      const { error } = await start(runJob(ONCE)).end;
      assert.ok(error instanceof PutOff);
      assert.deepEqual(notes.written, ['begin', 'takeBack']);
      assert.deepEqual(trouble, ['trouble']);
    });
  }

  test('that fails is the job’s failure, and says what to do about it', async () => {
    const cases = [
      ['unauthorized', /OPENCLAW_GATEWAY_TOKEN/, null],
      ['rate_limited', /rate_limited/, null],
      ['upstream', /upstream/, null],
      ['failed', /failed/, null],
      ['timeout', /timeout/, 'timeout'],
    ] as const;
    for (const [kind, words, cause] of cases) {
      const { gateway, start } = setUp();
      gateway.onRun = ({ fail }) => fail(failed(kind, true));
      const { error } = await start(runJob(ONCE)).end;
      assert.match(failure(error).message, words);
      assert.deepEqual([failure(error).cause, failure(error).requeue], [cause, true]);
    }
  });

  test('that fails tells what it took', async () => {
    const usage = { inputTokens: 10, outputTokens: 2, totalTokens: 12 };
    const { gateway, start } = setUp();
    gateway.onRun = ({ fail }) => fail(new GatewayError('upstream', 'it broke', { accepted: true, usage }));
    const { error } = await start(runJob(ONCE)).end;
    assert.deepEqual(failure(error).details, {
      message: 'it broke',
      kind: 'upstream',
      gateway: 'main',
      usage,
    });
  });

  test('that a gateway refuses says what to look at, for each of its reasons', async () => {
    const cases = [
      ['Unknown agent id "main"', /has an agent "main"/],
      ['a session key is 1 to 512 visible characters', /preferred_session_key/],
      ['session agent:ops:x belongs to another agent than main', /preferred_session_key/],
      ['model "x" is not of the form provider/model', /payload_model/],
      ['Thinking level "most" is not supported', /payload_thinking/],
      ['the gateway answered 413: Payload too large', /shorten payload_message/],
      ['no reason at all', /no reason at all$/],
    ] as const;
    for (const [said, words] of cases) {
      const { gateway, start } = setUp();
      gateway.onRun = ({ fail }) => fail(failed('refused', false, said));
      assert.match(failure((await start(runJob(ONCE)).end).error).message, words);
    }
  });

  test('whose answer begins with TASK_FAILED failed, in the agent’s own words', async () => {
    const { gateway, start } = setUp();
    gateway.onRun = ({ answer }) => answer('TASK_FAILED: no disk');
    const { error } = await start(runJob(ONCE)).end;
    assert.equal(failure(error).requeue, true);
    assert.equal((failure(error).details as { text: string }).text, 'TASK_FAILED: no disk');
  });

  test('whose answer begins with ASK asks, and nothing else does', async () => {
    const { gateway, start } = setUp();
    const said = async (text: string) => {
      gateway.onRun = ({ answer }) => answer(text);
      return (await start(runJob(ONCE)).end).error;
    };
    const asked = await said('ASK @ops: Which branch?\nThere are two.');
    assert.ok(asked instanceof AskAndWait);
    const { to, question, default: fallback } = asked.question;
    assert.deepEqual([to, question, fallback], ['@ops', 'Which branch?\nThere are two.', undefined]);
    for (const text of ['I would ASK @ops: x', 'ASK ops', 'ASK two names: x', 'ASK @ops:', 'ASKED @ops: x'])
      assert.equal(await said(text), null, text);
  });

  test('after an answer tells the agent what it asked and was answered, as data', async () => {
    const { gateway, start } = setUp();
    gateway.onRun = ({ answer }) => answer('done');
    const answers = [{ question: 'Which branch?', answer: { name: 'main' }, by: 'head', at: '' }];
    const inputs = { before: { rows: 2 } };
    await start(runJob(ONCE, { answers, checkpoint: 'two files left', inputs, inputsLeftOut: ['large'] }))
      .end;
    const message = gateway.turns[0]?.turn.message ?? '';
    const [, nonce] = /<data (\S+)>/.exec(message) ?? [];
    const quote = (text: string) => `<data ${nonce}>\n${text}\n</data ${nonce}>`;
    assert.ok(
      message.includes(
        `You asked:\n${quote('Which branch?')}\nAnswered by head:\n${quote('{"name":"main"}')}`,
      ),
    );
    assert.ok(message.includes(`The last checkpoint:\n${quote('two files left')}`));
    assert.ok(message.includes(`The result of job before:\n${quote('{"rows":2}')}\n1 more job ended`));
    assert.ok(message.endsWith('\n\nDo it.'));
  });

  test('is stopped at the gateway when its job is cancelled, and a late answer is nobody’s', async () => {
    const { gateway, start } = setUp();
    const { end, interrupt } = start(runJob(ONCE));
    await rest();
    interrupt('cancelled');
    const { error } = await end;
    assert.ok(error instanceof JobInterrupted);
    assert.equal(gateway.turns[0]?.signal.aborted, true);
    gateway.turns[0]?.answer('late');
  });

  test('is not sent any more when its job is to stop before, and leaves no note', async () => {
    const { gateway, notes, start } = setUp();
    const { end, interrupt } = start(runJob(ONCE));
    interrupt('shutdown');
    const { error } = await end;
    assert.ok(error instanceof JobInterrupted);
    assert.deepEqual(gateway.turns, []);
    assert.deepEqual(notes.written, ['begin', 'takeBack']);
  });
});

suite('a server that stops', () => {
  test('leaves a turn over the WebSocket running, with its note', async () => {
    const { gateway, notes, runner, start } = setUp();
    const { end, interrupt } = start(runJob(ONCE));
    await rest();
    assert.equal(runner.outlives('run-1'), true);
    interrupt('shutdown');
    assert.ok((await end).error instanceof JobInterrupted);
    assert.equal(gateway.turns[0]?.signal.aborted, false);
    assert.deepEqual(notes.written, ['begin']);
    assert.equal(runner.outlives('run-1'), false);
  });

  for (const [plan, replayed] of [
    [ONCE, false],
    [AGAIN, true],
  ] as const) {
    test(`stops a chat turn, which ${replayed ? 'is' : 'is not'} done again [SC-27]`, async () => {
      const { gateway, runner, start } = setUp();
      gateway.speaks = 'chat';
      const { end, interrupt } = start(runJob(plan));
      await rest();
      assert.equal(runner.outlives('run-1'), false);
      interrupt('shutdown');
      const { error } = await end;
      assert.equal(gateway.turns[0]?.signal.aborted, true);
      assert.deepEqual([failure(error).cause, failure(error).requeue], ['crashed', replayed]);
    });
  }
});

suite('the implicit heartbeat', () => {
  test('stops an agent that has been silent for its threshold, within ten seconds after it [SC-09 SC-10]', async () => {
    const { clock, gateway, start } = setUp();
    let mark = 0;
    gateway.sees = () => running(String(mark));
    const { end } = start(runJob(ONCE));
    await clock.advance(31_000);
    mark = 1;
    const silentAt = clock.now();
    let endedAt = 0;
    void end.then(() => (endedAt = clock.now()));
    await clock.advance(89_000);
    assert.equal(endedAt, 0);
    await clock.advance(60_000);
    const { error } = await end;
    assert.equal(failure(error).cause, 'stale');
    assert.equal(failure(error).requeue, true);
    assert.equal(gateway.turns[0]?.signal.aborted, true);
    assert.ok(endedAt - silentAt >= 90_000 && endedAt - silentAt <= 100_000, `${endedAt - silentAt}`);
  });

  test('looks oftener where the schedule has a short threshold', async () => {
    const { clock, gateway, start } = setUp();
    gateway.sees = running('same');
    const { end } = start(runJob(planOf({ stale_threshold_s: 9 })));
    await clock.advance(8_900);
    assert.equal(gateway.looks.length, 9);
    await clock.advance(100);
    assert.equal(failure((await end).error).cause, 'stale');
  });

  test('stops a silent agent after payload_timeout_seconds where that is less than the server’s limit', async () => {
    const { clock, gateway, start } = setUp();
    gateway.sees = running('same');
    const { end } = start(runJob(planOf({ payload_timeout_seconds: 9 })));
    await clock.advance(8_900);
    await clock.advance(100);
    assert.equal(failure((await end).error).cause, 'stale');
  });

  test('lets an agent go on that is active now and then, and notes it [SC-09]', async () => {
    const { clock, gateway, notes, start } = setUp();
    gateway.sees = () => running(String(Math.floor(clock.now() / 2_000)));
    const { end } = start(runJob(planOf({ stale_threshold_s: 10 })));
    await clock.advance(40_000);
    const beats = notes.written.filter((what) => what === 'heartbeat').length;
    assert.ok(beats >= 5 && beats <= 8, `${beats} heartbeats in 40 s`);
    gateway.turns[0]?.answer('done');
    assert.equal((await end).error, null);
  });

  test('counts a tool that runs as life, however long it takes', async () => {
    const { clock, gateway, start } = setUp();
    gateway.sees = running('same', 'exec');
    const { end } = start(runJob(ONCE));
    await clock.advance(3_600_000);
    gateway.turns[0]?.answer('done');
    assert.equal((await end).error, null);
  });

  test('judges by no silence where the gateway shows no activity', async () => {
    const { clock, gateway, notes, start } = setUp();
    gateway.speaks = 'chat';
    gateway.sees = running(null);
    const { end } = start(runJob(ONCE));
    await clock.advance(3_600_000);
    assert.ok(notes.written.includes('heartbeat'));
    gateway.turns[0]?.answer('done');
    assert.equal((await end).error, null);
  });

  test('kills nobody because it cannot see', async () => {
    const { clock, gateway, start } = setUp();
    gateway.sees = running('same');
    const { end } = start(runJob(ONCE));
    await clock.advance(1_000);
    gateway.sees = UNKNOWN;
    await clock.advance(3_600_000);
    gateway.turns[0]?.answer('done');
    assert.equal((await end).error, null);
  });

  test('sees a silent agent through looks that failed in between', async () => {
    const { clock, gateway, start } = setUp();
    let look = 0;
    gateway.sees = () => (++look % 2 === 0 ? UNKNOWN : running('same'));
    const { end } = start(runJob(ONCE));
    let over = false;
    void end.then(() => (over = true));
    await clock.advance(120_000);
    assert.equal(over, true);
    assert.equal(failure((await end).error).cause, 'stale');
  });
});

suite('a turn whose connection broke', () => {
  function broken(plan = AGAIN) {
    const all = setUp();
    all.gateway.sees = ABSENT;
    const run = all.start(runJob(plan));
    const lose = async () => {
      await rest();
      all.gateway.turns[0]?.accept();
      all.gateway.turns[0]?.fail(failed('lost', true));
      await rest();
    };
    return { ...all, ...run, lose };
  }

  test('is adopted when the gateway comes back and has resumed it', async () => {
    const { clock, gateway, log, trouble, end, lose } = broken();
    gateway.ready = false;
    await lose();
    assert.deepEqual(trouble, ['trouble']);
    await clock.advance(120_000);
    gateway.ready = true;
    await clock.advance(20_000);
    gateway.sees = running(null);
    await clock.advance(2_000);
    const [followed] = gateway.follows;
    assert.equal(followed?.ref.sessionKey, `scheduler:${SCHEDULE_ID}:run-1`);
    followed?.answer('finished after all');
    assert.equal(((await end).result as { text: string }).text, 'finished after all');
    assert.deepEqual(log.lines, ['Adopted a turn that the gateway still has']);
    assert.equal(gateway.turns.length, 1);
  });

  test('crashed when the gateway does not have it: done again where that is promised [SC-27]', async () => {
    const { clock, gateway, log, end, lose } = broken(AGAIN);
    await lose();
    await clock.advance(46_000);
    const { error } = await end;
    assert.deepEqual([failure(error).cause, failure(error).requeue], ['crashed', true]);
    assert.equal(gateway.aborts.length, 1);
    assert.deepEqual(log.lines, ['A run crashed and is replayed']);
  });

  test('crashed when the gateway does not have it: not done again where once is the most [SC-27]', async () => {
    const { clock, gateway, end, lose } = broken(ONCE);
    await lose();
    await clock.advance(46_000);
    const { error } = await end;
    assert.deepEqual([failure(error).cause, failure(error).requeue], ['crashed', false]);
    assert.deepEqual(gateway.aborts, []);
  });

  test('is put off, with its note, while the gateway stays away', async () => {
    const { clock, gateway, notes, end, lose } = broken();
    gateway.ready = false;
    await lose();
    await clock.advance(605_000);
    assert.ok((await end).error instanceof PutOff);
    assert.deepEqual(notes.written, ['begin']);
  });

  test('is stopped wherever it is when it is cancelled meanwhile', async () => {
    const { clock, gateway, end, interrupt, lose } = broken();
    await lose();
    await clock.advance(4_000);
    interrupt('cancelled');
    assert.ok((await end).error instanceof JobInterrupted);
    assert.equal(gateway.aborts.length, 1);
  });

  test('crashed when what was followed turns out to be cut off', async () => {
    const { clock, gateway, end, lose } = broken();
    gateway.sees = ENDED;
    gateway.onFollow = () => Promise.reject(failed('aborted', true));
    await lose();
    await clock.advance(1_000);
    assert.equal(failure((await end).error).cause, 'crashed');
  });
});

suite('a run that somebody has begun before', () => {
  function begun(transport: 'websocket' | 'chat', plan = AGAIN) {
    const all = setUp();
    all.notes.earlier = { sessionKey: 'scheduler:old:key', transport, at: 5_000 };
    return { ...all, begin: () => all.start(runJob(plan)) };
  }

  for (const sees of [running('x'), ENDED]) {
    test(`is adopted over the WebSocket while the gateway has it ${sees.status} [SC-61]`, async () => {
      const { gateway, notes, log, begin } = begun('websocket');
      gateway.sees = sees;
      const { end } = begin();
      await rest();
      const [followed] = gateway.follows;
      assert.deepEqual(followed?.ref, {
        agentId: 'main',
        sessionKey: 'scheduler:old:key',
        runKey: 'run-1:5000',
        transport: 'websocket',
        startedAt: 5_000,
      });
      followed?.answer('kept');
      assert.equal(((await end).result as { text: string }).text, 'kept');
      // What stood in its prompt has arrived with it.
      assert.deepEqual([gateway.turns, notes.written], [[], ['mailArrived']]);
      assert.deepEqual(log.lines, ['Adopted a turn that the gateway still has']);
    });
  }

  test('is replayed when it is gone and at least once was promised, and logged [SC-61]', async () => {
    const { gateway, log, begin } = begun('websocket');
    gateway.sees = ABSENT;
    const { error } = await begin().end;
    assert.deepEqual([failure(error).cause, failure(error).requeue], ['crashed', true]);
    assert.deepEqual(gateway.turns, []);
    assert.deepEqual(log.lines, ['A run crashed and is replayed']);
  });

  test('is not replayed when once is the most, and logged [SC-61]', async () => {
    const { gateway, log, begin } = begun('websocket', ONCE);
    gateway.sees = ABSENT;
    const { error } = await begin().end;
    assert.deepEqual([failure(error).cause, failure(error).requeue], ['crashed', false]);
    assert.deepEqual(log.lines, ['A run crashed and is not replayed']);
  });

  test('over chat is adopted only while it runs', async () => {
    const { gateway, begin } = begun('chat');
    gateway.sees = running(null);
    const { end } = begin();
    await rest();
    gateway.follows[0]?.answer('resumed');
    assert.equal(((await end).result as { text: string }).text, 'resumed');
    gateway.sees = ENDED;
    assert.equal(failure((await begin().end).error).cause, 'crashed');
  });

  test('waits for a gateway that is away', async () => {
    const { gateway, begin } = begun('websocket');
    gateway.ready = false;
    assert.ok((await begin().end).error instanceof PutOff);
  });
});

suite('work from the queue', () => {
  const plain = (fields: Partial<ClaimedJob>) =>
    claimedJob({ id: 'job-9', target: 'gateway:main', attempt: 2, ...fields });

  for (const spec of ['Say hello.', { message: 'Say hello.' }]) {
    test(`is sent as it is: ${JSON.stringify(spec)}`, async () => {
      const { gateway, start } = setUp();
      gateway.onRun = ({ answer }) => answer('hello');
      // A plan that its author made up is no plan.
      assert.equal((await start(plain({ spec, meta: AGAIN })).end).error, null);
      const { turn } = gateway.turns[0] ?? assert.fail('no turn');
      assert.deepEqual(
        [turn.message, turn.agentId, turn.sessionKey, turn.runKey],
        ['Say hello.', 'main', 'spine:job-9:2', 'job-9:2'],
      );
    });
  }

  test('without a message fails for good', async () => {
    const { start } = setUp();
    assert.equal(failure((await start(plain({ spec: { n: 1 } })).end).error).requeue, false);
  });

  test('goes on in a turn of its own after an answer, with what was said', async () => {
    const { gateway, start } = setUp();
    gateway.onRun = ({ answer }) => answer('hello');
    const answers = [{ question: 'Whom?', answer: 'Ada', by: 'head', at: '' }];
    await start(plain({ spec: 'Say hello.', questions: 1, answers })).end;
    const { turn } = gateway.turns[0] ?? assert.fail('no turn');
    assert.deepEqual([turn.sessionKey, turn.runKey], ['spine:job-9:2:1', 'job-9:2:1']);
    assert.ok(turn.message.endsWith('\n\nSay hello.'));
    assert.match(turn.message, /You asked:\n<data \S+>\nWhom\?/);
  });

  test('that was held before is looked for, and sent when it is not there', async () => {
    const { gateway, notes, start } = setUp();
    notes.earlier = { sessionKey: null, transport: null, at: 1 };
    gateway.sees = ABSENT;
    gateway.onRun = ({ answer }) => answer('hello');
    assert.equal((await start(plain({ spec: 'x' })).end).error, null);
    gateway.sees = running(null);
    const { end } = start(plain({ spec: 'x' }));
    await rest();
    gateway.follows[0]?.answer('kept');
    assert.equal(((await end).result as { text: string }).text, 'kept');
    assert.equal(gateway.turns.length, 1);
  });
});

test('work from the queue is not counted as tried when the server leaves its turn behind', async () => {
  const { gateway, start } = setUp();
  const { end, interrupt } = start(claimedJob({ target: 'gateway:main', spec: 'x' }));
  await rest();
  interrupt('shutdown');
  assert.ok((await end).error instanceof PutOff);
  assert.equal(gateway.turns[0]?.signal.aborted, false);
});

suite('the main session', () => {
  const MAIN = planOf({ session_target: 'main', agent_id: 'desk' });

  test('gets the prompt as a system event; that it was taken is the result', async () => {
    const { gateway, notes, start } = setUp();
    assert.deepEqual((await start(runJob(MAIN)).end).result, { text: 'sent' });
    const [woken] = gateway.woken;
    assert.equal(woken?.agentId, 'desk');
    assert.ok(woken?.text.endsWith('\n\nDo it.'));
    assert.deepEqual(notes.written, ['begin']);
  });

  test('is sent to once, though the database is away when its messages have arrived', async () => {
    const { gateway, log, notes, start } = setUp();
    notes.messages = [{ id: 'm', sender: 'lead', kind: 'text', subject: null, body: 'x', owner: null }];
    notes.mailArrived = () => Promise.reject(new Error('the database is away'));
    assert.deepEqual((await start(runJob(MAIN)).end).result, { text: 'sent' });
    assert.equal(gateway.woken.length, 1);
    assert.deepEqual(log.lines, ['Messages may come a second time']);
  });

  test('waits for a gateway that did not take it', async () => {
    const { gateway, notes, start } = setUp();
    gateway.onWake = () => {
      throw failed('down');
    };
    assert.ok((await start(runJob(MAIN)).end).error instanceof PutOff);
    assert.deepEqual(notes.written, ['begin', 'takeBack']);
  });

  test('is not sent to twice after a crash, unless that was asked for', async () => {
    const { gateway, notes, start } = setUp();
    notes.earlier = { sessionKey: 'agent:desk:main', transport: 'wake', at: 1 };
    const { error } = await start(runJob(MAIN)).end;
    assert.deepEqual([failure(error).cause, failure(error).requeue], ['crashed', false]);
    assert.deepEqual(gateway.woken, []);
  });

  test('can be given a whole turn', async () => {
    const { gateway, start } = setUp();
    gateway.onRun = ({ answer }) => answer('done');
    await start(runJob(planOf({ session_target: 'main', payload_kind: 'agentTurn' }))).end;
    assert.equal(gateway.turns[0]?.turn.sessionKey, 'main');
  });
});
