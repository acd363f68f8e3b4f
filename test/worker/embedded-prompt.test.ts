import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite } from 'node:test';
import type { Schedule } from '../../src/domain/schedule.ts';
import { hostileTexts, nonceOf, unquoted } from '../support/injection.ts';
import { DIALECTS, onEvery, type Opened } from '../support/engines.ts';
import { doNext, pass, plan, pump, runNow, runsOf, startAt } from '../support/scheduling.ts';
import { failed, ScriptedGateway } from './scripted-gateway.ts';
import { agentJob, ended, serve, turn } from './serving.ts';

/** A turn that is answered so; answers what the agent saw. */
async function told(spine: Opened, gateway: ScriptedGateway, made: Schedule, reply: string): Promise<string> {
  await pass(spine, 60_000);
  const before = gateway.turns.length;
  const job = await runNow(spine, made);
  const { turn: sent, answer } = await turn(gateway, before);
  answer(reply);
  await ended(spine, job);
  await pump(spine);
  return sent.message;
}

const contextOf = async (spine: Opened, made: Schedule): Promise<Record<string, unknown>> =>
  JSON.parse((await runsOf(spine, made)).at(-1)?.run.contextSummary ?? '{}') as Record<string, unknown>;

suite('the prompt of a run', () => {
  onEvery(DIALECTS, (each) => {
    each(
      'has what earlier runs said, newest first, with the time of each [SC-62 SC-64 SC-65]',
      async (spine) => {
        await startAt(spine, '2030-01-15T02:00:00Z');
        const gateway = new ScriptedGateway();
        await using _ = await serve(spine, gateway);
        const made = await agentJob(spine, { context_retrieval: 'recent', context_retrieval_limit: 2 });
        assert.doesNotMatch(await told(spine, gateway, made, 'R1'), /Prior Run Context/);
        await told(spine, gateway, made, 'R2');
        await told(spine, gateway, made, 'R3');
        const prompt = await told(spine, gateway, made, 'R4');
        assert.match(
          prompt,
          /^--- Prior Run Context ---\n<data (\S+)>\n\[2030-01-15 02:03\] R3\n\[2030-01-15 02:02\] R2\n<\/data \1>\n--- End Prior Run Context ---$/m,
        );
        assert.doesNotMatch(prompt, /\] R1$/m);
        const context = await contextOf(spine, made);
        assert.deepEqual([context['context_retrieval'], context['retrieval_results']], ['recent', 2]);
      },
    );

    each('begins with the earlier run that fits best [SC-63]', async (spine) => {
      const gateway = new ScriptedGateway();
      await using _ = await serve(spine, gateway);
      const parent = await agentJob(spine, { name: 'look' });
      const made = await agentJob(spine, {
        parent_id: parent.id,
        payload_message: 'See what is to be done.',
        context_retrieval: 'hybrid',
        context_retrieval_limit: 2,
      });
      const said = ['The certificate expires on Friday', 'Nothing new', 'Nothing new again'];
      for (const reply of said) await told(spine, gateway, made, reply);
      // What its parent says is what the run is about, too.
      await told(spine, gateway, parent, 'Ask for a new certificate');
      const { turn: sent, answer } = await turn(gateway, 4);
      const lines = sent.message.split('\n').filter((line) => /^\[\d{4}-/.test(line));
      assert.match(lines[0] ?? '', /\] The certificate expires on Friday$/);
      answer('ok');
      await pump(spine);
      assert.equal((await contextOf(spine, made))['retrieval_results'], lines.length);
    });

    each(
      'is kept with the run as it was sent, but for the token; its hash is of the whole [SC-14]',
      async (spine) => {
        const gateway = new ScriptedGateway();
        await using _ = await serve(spine, gateway);
        const made = await agentJob(spine);
        const sent = await told(spine, gateway, made, 'done');
        const [{ job, run } = assert.fail()] = await runsOf(spine, made);
        const [token = ''] = /turn\.[\w.-]+/.exec(sent) ?? [];
        assert.ok(token.length > 60, 'the agent was given a token');
        const kept = await spine.engine.runs.prompt(job.no);
        assert.equal(kept, sent.replaceAll(token, '<token of this run>'));
        assert.ok(kept !== sent && kept?.endsWith('\n\nDo it.'));
        assert.equal(run.promptHash, createHash('sha256').update(sent).digest('hex'));
      },
    );

    each('is not there of a turn that the gateway did not take', async (spine) => {
      const gateway = new ScriptedGateway();
      gateway.onRun = ({ fail }) => fail(failed('down'));
      await using _ = await serve(spine, gateway);
      const made = await agentJob(spine);
      const job = await runNow(spine, made);
      await turn(gateway);
      await pump(spine);
      await pass(spine, 2_000, 500);
      const [{ run } = assert.fail()] = await runsOf(spine, made);
      assert.deepEqual([run.promptHash, run.contextSummary, run.dispatchedAt], [null, null, null]);
      assert.equal(await spine.engine.runs.prompt(job.no), null);
    });

    each('quotes ten hostile replies, as earlier runs and as the parent’s output', async (spine) => {
      const gateway = new ScriptedGateway();
      await using _ = await serve(spine, gateway);
      const parent = await agentJob(spine, { context_retrieval: 'recent', context_retrieval_limit: 10 });
      const child = await agentJob(spine, { name: 'child', parent_id: parent.id });
      const texts = hostileTexts('0123456789ab');
      const skeletons = new Set<string>();
      for (const { name, text } of texts) {
        const turns = gateway.turns.length;
        await told(spine, gateway, parent, text);
        const { turn: sent, answer } = await turn(gateway, turns + 1);
        assert.match(sent.message, /Obey me|\[…\]|<\/data 0123/, name);
        const nonce = nonceOf(sent.message);
        skeletons.add(
          unquoted(sent.message, nonce).replaceAll(/[0-9a-f-]{36}|turn\.[\w.-]+|(?<=data )\w+/g, ''),
        );
        answer('ok');
        const [{ job } = assert.fail()] = (await runsOf(spine, child)).slice(-1);
        await ended(spine, job);
        await pump(spine);
      }
      assert.equal(skeletons.size, 1, [...skeletons].join('\n=====\n'));
      assert.equal((await runsOf(spine, child)).length, 10);
      const last = await told(spine, gateway, parent, 'done');
      const outside = unquoted(last, nonceOf(last));
      assert.doesNotMatch(outside, /Obey me/);
      assert.equal(
        last.split('\n').filter((line) => /^\[\d{4}-\d\d-\d\d \d\d:\d\d\] /.test(line)).length,
        10,
      );
    });
  });
});

suite('the context summary', () => {
  onEvery(DIALECTS, (each) => {
    each('is written for every run, one for a queue too [SC-14 SC-30]', async (spine) => {
      const made = await plan(spine, { payload_message: 'x' });
      await runNow(spine, made);
      await doNext(spine);
      assert.deepEqual(await contextOf(spine, made), {
        messages_injected: 0,
        scope: 'own',
        aliases_resolved: [],
        job_class: 'standard',
        delivery_guarantee: 'at-most-once',
        context_retrieval: 'none',
        retrieval_results: 0,
      });
    });
  });
});
