import type { Handler } from '../command.ts';
import { type Line, styled } from '../text/line.ts';
import { relative } from '../text/times.ts';
import { failing, healthDetails } from './health.ts';
import { fact } from './job-lines.ts';
import { countLine } from './stats.ts';

export const status: Handler = async (session) => {
  const client = await session.client();
  const health = await client.health();
  const [details, stats, pauses] = await Promise.all([
    healthDetails(session),
    client.stats(),
    client.pauses.list(),
  ]);
  const troubles = failing(details);
  const lines = (): Line[] => [
    [
      styled('green', 'up'),
      ` Spine ${health.version} at ${session.url} (${details.store ?? 'unknown store'})`,
    ],
    [styled('dim', 'jobs'.padEnd(12)), ' ', ...countLine(stats)],
    ...pauses.map(({ kind, name, since, by }) =>
      fact('paused', `${kind} ${name}, ${relative(since, session.now())} by ${by}`),
    ),
    ...troubles.map(
      ({ name, lastError }): Line => [styled('red', 'trouble'.padEnd(12)), ` ${name}: ${lastError}`],
    ),
  ];
  session.out.result({
    value: {
      ok: true,
      url: session.url,
      version: health.version,
      store: details.store ?? null,
      states: stats.states,
      pauses,
      failingLoops: troubles,
    },
    lines,
  });
};
