import { ok, strictEqual } from 'node:assert';
import { test } from 'node:test';
import type { Command } from '../../src/domain/command.ts';
import { weightOf } from '../../src/engine/command-weight.ts';

const actor = { name: 'left-claw', role: 'worker', targets: null } as const;
const held = { actor, id: '1', leaseToken: null };
const LONG = 'x'.repeat(1_048_576);

const commandsOf = (text: string): readonly Command[] => [
  { ...held, kind: 'complete', result: text },
  { ...held, kind: 'report', result: text },
  { ...held, kind: 'fail', error: text, requeue: false, cause: null, spread: null },
  { ...held, kind: 'heartbeat', progress: text },
  { ...held, kind: 'checkpoint', value: text },
  { ...held, kind: 'log', lines: [{ at: 0, text, level: 'info' }] },
  { actor, id: '1', kind: 'comment', text },
  { actor, id: '1', kind: 'reword', asked: { description: text } },
  { actor, id: '1', kind: 'reword', asked: { params: text } },
];

test('a command weighs as much as what it writes', () => {
  const long = commandsOf(LONG);
  for (const [i, short] of commandsOf('x').entries()) {
    ok(weightOf([short]) < 2, short.kind);
    ok(weightOf(long.slice(i, i + 1)) > 256, short.kind);
  }
  strictEqual(weightOf([{ ...held, kind: 'release', reason: null }]), 1);
});
