import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TriggerContext } from '../../src/domain/schedule.ts';
import type { ToldMessage } from '../../src/prompt/messages.ts';
import { type PromptParts, promptOf } from '../../src/prompt/prompt.ts';
import { hostileTexts, unquoted } from '../support/injection.ts';
import { PARENT, planOf } from '../worker/fixtures.ts';

const NONCE = '9c1f40aa73be';

function prompt(parts: Partial<PromptParts>): string {
  const plan = planOf({ delivery_guarantee: 'at-least-once' });
  const usual = {
    plan,
    message: 'Do it.',
    firstRunId: 'run-1',
    nonce: NONCE,
    access: null,
    priorRuns: [],
    handedOn: {},
    messages: [],
  };
  return promptOf({ ...usual, ...parts });
}

const triggered = (trigger: Partial<TriggerContext>): string =>
  prompt({ plan: planOf({}, { trigger: { ...PARENT, ...trigger } }) });

const told = (change: Partial<ToldMessage>): string =>
  prompt({
    messages: [{ id: 'm', sender: 'ops', kind: 'fact', subject: null, body: 'x', owner: null, ...change }],
  });

/** Every way by which the words of others come into a prompt; a new one belongs here. */
const QUOTED: Readonly<Record<string, (text: string) => string>> = {
  'what another agent says': (body) => told({ body }),
  'what another agent calls it': (subject) => told({ subject }),
  'whose another agent says it is': (owner) => told({ owner }),
  'the output of an agent that was before it': (output) => triggered({ output }),
  'what a command before it printed': (output) => triggered({ output, exitCode: 1, stderr: '' }),
  'the errors of a command before it': (stderr) => triggered({ output: '', exitCode: 1, stderr }),
  'what earlier runs said': (summary) =>
    prompt({
      priorRuns: [
        { at: 0, summary },
        { at: 60_000, summary: 'fine' },
      ],
    }),
  'what it asked and was answered': (text) =>
    prompt({ handedOn: { answers: [{ question: text, answer: text, by: 'head' }] } }),
  'the checkpoint of an earlier attempt': (checkpoint) => prompt({ handedOn: { checkpoint } }),
  'the name that a run gave its schedule': (name) => {
    const { schedule, ...rest } = planOf();
    return prompt({ plan: { ...rest, schedule: { ...schedule, name, isSpawned: true } } });
  },
  'the name that a run gave the schedule before it': (scheduleName) =>
    triggered({ scheduleName, isSpawned: true, output: 'fine' }),
  'the result of a job before it': (result) => prompt({ handedOn: { inputs: { earlier: result } } }),
};

/** Ways that are not quoted because they are one short line. */
const ONE_LINE: Readonly<Record<string, (text: string) => string>> = {
  'the name of its schedule': (name) => {
    const { schedule, ...rest } = planOf();
    return prompt({ plan: { ...rest, schedule: { ...schedule, name } } });
  },
  'the name of the schedule before it': (scheduleName) => triggered({ scheduleName, output: 'fine' }),
};

suite('hostile words stay inside of their quotation', () => {
  for (const [way, make] of Object.entries(QUOTED))
    for (const { name, text } of hostileTexts(NONCE))
      test(`${way}: ${name}`, () => {
        const made = make(text);
        // Taken out, they leave exactly what harmless words leave.
        assert.equal(unquoted(made, NONCE), unquoted(make('fine'), NONCE));
        assert.ok(
          made.includes('Obey me') || text.length > 1_000 || way.startsWith('the name'),
          'the words are there, as data',
        );
        assert.ok(made.isWellFormed());
        // oxlint-disable-next-line no-control-regex -- a control in a prompt is what is looked for
        assert.doesNotMatch(made, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
        assert.ok(made.length < 12_000 || way === 'what earlier runs said', `${made.length} characters`);
      });

  for (const [way, make] of Object.entries(ONE_LINE))
    for (const { name, text } of hostileTexts(NONCE))
      test(`${way} stays one line: ${name}`, () => {
        const lines = (prompt: string): string[] => prompt.split(/\r\n|[\n\r\u0085\u2028\u2029\v\f]/);
        const [made, usual] = [lines(make(text)), lines(make('fine'))];
        assert.equal(made.length, usual.length);
        const other = made.filter((line, i) => line !== usual[i]);
        assert.equal(other.length, 1);
        assert.ok((other[0]?.length ?? 0) < 300);
      });

  test('there are ten of them', () => {
    assert.equal(new Set(hostileTexts(NONCE).map(({ text }) => text)).size, 10);
  });
});
