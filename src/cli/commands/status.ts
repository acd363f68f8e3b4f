import type { Health, Readiness } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { EXIT } from '../failure.ts';
import type { Session } from '../session.ts';
import { type Line, styled } from '../text/line.ts';
import { relative } from '../text/times.ts';
import { failing, healthDetails } from './health.ts';
import { fact } from './job-lines.ts';
import { SilentExit } from './silent-exit.ts';
import { countLine } from './stats.ts';

/** The rest is asked of the database, which would not answer. */
function notReady(session: Session, { version }: Health, { reason, message }: Readiness): never {
  const up: Line = [styled('yellow', 'up'), ` Spine ${version} at ${session.url}`];
  session.out.result({
    value: { ok: false, url: session.url, version, reason, message },
    lines: () => [up, [styled('red', 'not ready'.padEnd(12)), ` ${message ?? ''}`]],
  });
  throw new SilentExit(EXIT.unavailable);
}

export const status: Handler = async (session) => {
  const client = await session.client();
  const health = await client.health();
  const readiness = await client.ready();
  if (!readiness.ready) return notReady(session, health, readiness);
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
    ...(details.unserved ?? []).map(
      ({ target, queued, why }): Line => [
        styled('yellow', 'waiting'.padEnd(12)),
        ` ${queued} for ${target}: ${why}`,
      ],
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
      unserved: details.unserved ?? [],
    },
    lines,
  });
};
