import type { Pause } from '../../client/index.ts';
import type { Given, Handler } from '../command.ts';
import { usage } from '../failure.ts';
import type { Session } from '../session.ts';
import type { Line } from '../text/line.ts';
import { table } from '../text/table.ts';
import { relative } from '../text/times.ts';

interface Options {
  /** `--type digest`, or `--type` beside the name. */
  readonly type?: string | true;
  readonly door?: string;
  readonly provider?: string;
}

export const pause: Handler<Options> = async (session, given) => {
  const what = subject(given);
  const { pauses } = await session.client();
  if (what === null) {
    const list = await pauses.list();
    return session.out.result({ value: { pauses: list }, lines: () => pauseTable(session, list) });
  }
  await pauses.pause(what.kind, what.name);
  session.out.result({
    value: { ...what, paused: true },
    lines: () => [
      `Nothing more is handed out for the ${what.kind} ${what.name}. Undo with: npx spine resume ${words(what)}`,
    ],
  });
};

export const resume: Handler<Options> = async (session, given) => {
  const what = subject(given);
  if (what === null) throw usage('What to resume is missing.', 'See what is paused with: npx spine pause');
  await (await session.client()).pauses.resume(what.kind, what.name);
  session.out.result({
    value: { ...what, paused: false },
    lines: () => [`The ${what.kind} ${what.name} goes on.`],
  });
};

type Subject = Pick<Pause, 'kind' | 'name'>;

function subject({ args: [name], options: { type, door, provider } }: Given<Options>): Subject | null {
  if ([name, door, provider].filter((each) => each !== undefined).length > 1 || ((door ?? provider) && type))
    throw usage('Name a target, a --type, a --provider or a --door.');
  if (door !== undefined) return { kind: 'door', name: door };
  if (provider !== undefined) return { kind: 'provider', name: provider };
  if (type === undefined) return name === undefined ? null : { kind: 'target', name };
  const typeName = type === true ? name : type;
  if (typeName === undefined) throw usage('--type needs the name of a type.');
  if (type !== true && name !== undefined) throw usage('Name a target or a --type, not both.');
  return { kind: 'type', name: typeName };
}

function words({ kind, name }: Subject): string {
  return kind === 'target' ? name : `--${kind} ${name}`;
}

function pauseTable(session: Session, pauses: readonly Pause[]): Line[] {
  if (pauses.length === 0) {
    session.out.info('Nothing is paused.');
    return [];
  }
  const columns = [
    { head: 'paused' },
    { head: 'name' },
    { head: 'since' },
    { head: 'by' },
    { head: 'until' },
  ];
  const rows = pauses.map(({ kind, name, since, by, until }) => {
    const ends = until === null ? '' : relative(until, session.now());
    return [kind, name, relative(since, session.now()), by, ends];
  });
  return table(columns, rows, session.out.columns);
}
