import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import type { FileDuration, TestResult } from './results.ts';

/** A node:test reporter that writes one line of JSON for each test and each file. Suites are part of their tests' names. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  // Starts and ends come file by file and in the order of the tests, whichever files run side by side.
  const suites: string[] = [];
  for await (const event of events) {
    if (event.type === 'test:start') suites.splice(event.data.nesting, Infinity, event.data.name);
    if (event.type === 'test:summary' && event.data.file !== undefined) {
      const { file, duration_ms: durationMs } = event.data;
      yield `${JSON.stringify({ file: fromHere(file), durationMs } satisfies FileDuration)}\n`;
    }
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { file = '', nesting, name, details, skip, todo } = event.data;
    const unproven = skip ?? todo;
    const isPassedSuite = details.type === 'suite' && event.type === 'test:pass' && unproven === undefined;
    if (isPassedSuite) continue;
    const result: TestResult = {
      name: [...suites.slice(0, nesting), name].join(' > '),
      file: fromHere(file),
      outcome: event.type === 'test:fail' ? 'failed' : unproven === undefined ? 'passed' : 'skipped',
      reason: typeof unproven === 'string' ? unproven : '',
    };
    yield `${JSON.stringify(result)}\n`;
  }
}

function fromHere(file: string): string {
  return relative(process.cwd(), file);
}
