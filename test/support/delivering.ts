import type { Channel, OutgoingMessage, Proof } from '../../src/channels/channel.ts';
import type { Delivery } from '../../src/domain/delivery.ts';
import { Deliverer } from '../../src/loops/deliverer.ts';
import { until } from './clock.ts';
import { HEAD, type Opened } from './engines.ts';

type Spine = Pick<Opened, 'engine'>;

/** A channel that keeps what it is given, and does with it what the test says. */
export class Mailbox implements Channel {
  readonly got: OutgoingMessage[] = [];
  /** Called for every message before it counts as taken. */
  act: (message: OutgoingMessage, signal: AbortSignal) => Promise<Proof> = async () => ({ status: 200 });
  partChars = 1_000;

  parts(text: string): string[] {
    return text.match(new RegExp(`.{1,${this.partChars}}`, 'gs')) ?? [''];
  }

  async send(message: OutgoingMessage, signal: AbortSignal): Promise<Proof> {
    const proof = await this.act(message, signal);
    this.got.push(message);
    return proof;
  }

  get texts(): string[] {
    return this.got.map(({ text }) => text);
  }
}

export function delivererOf(spine: Spine, mailbox: Channel): Deliverer {
  return new Deliverer(spine.engine.core, () => mailbox);
}

/** Passes until nothing is due any more, and everything that was begun has ended. */
export async function deliverAll(deliverer: Deliverer): Promise<void> {
  for (let pass = 0; pass < 5_000; pass++) {
    const { done } = await deliverer.runOnce();
    await until('what was begun has ended', () => deliverer.sending === 0);
    if (done === 0) return;
  }
  throw new Error('delivering never comes to an end');
}

/** Oldest first. */
export async function deliveries(spine: Spine): Promise<Delivery[]> {
  return (await spine.engine.deliveries.list({ limit: 5_000 })).toReversed();
}

export function alias(spine: Spine, name = 'ops', target = '1', channel = 'telegram') {
  return spine.engine.aliases.save(HEAD, { alias: name, channel, target, description: null });
}
