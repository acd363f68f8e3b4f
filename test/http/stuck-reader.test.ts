import { deepStrictEqual } from 'node:assert';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { suite, test } from 'node:test';
import { endWhenStill } from '../../src/http/stuck-reader.ts';
import { FakeClock } from '../support/clock.ts';

suite('whoever asks for a file', () => {
  test('may be as slow as he likes, but not stand still for a minute', async () => {
    const { clock, socket, ended } = reading();
    for (let minute = 0; minute < 10; minute++) {
      socket.bytesWritten += 1;
      await clock.advance(60_000);
    }
    deepStrictEqual(ended(), false);
    await clock.advance(60_000);
    deepStrictEqual(ended(), true);
  });

  test('is not looked after any more when he has it', async () => {
    const { clock, raw, ended } = reading();
    raw.emit('close');
    await clock.advance(600_000);
    deepStrictEqual(ended(), false);
  });
});

function reading() {
  const clock = new FakeClock();
  const socket = { bytesWritten: 0 };
  let isEnded = false;
  const destroy = (): void => void (isEnded = true);
  const raw = Object.assign(new EventEmitter(), { socket, destroy });
  // What is used of a response.
  endWhenStill(raw as unknown as ServerResponse, clock);
  return { clock, raw, socket, ended: () => isEnded };
}
