import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import type { FileDuration } from './durations.ts';

/** A node:test reporter that writes one line of JSON for each file that has ended. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:summary' || event.data.file === undefined) continue;
    const { file, duration_ms: durationMs } = event.data;
    yield `${JSON.stringify({ file: relative(process.cwd(), file), durationMs } satisfies FileDuration)}\n`;
  }
}
