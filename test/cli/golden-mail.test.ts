import { after, before, test } from 'node:test';
import { buildSchedulerProgram } from '../../src/cli/scheduler/program.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf, spine, words } from './support.ts';
import { golden, normal } from './transcript.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

/** The text's list of commands, line by line; `$1` is the first message that was sent, `$last` the last one. */
const LINES: readonly (string | { readonly line: string; readonly stdin: string })[] = [
  'agents list',
  'agents register ops "Operations" --capability gpu --capability shell',
  'agents register main',
  'agents list',
  'agents get ops',
  'msg send ops main "Never deploy during business hours" --kind constraint --owner ops-agent --priority 2',
  'msg send ops main "Lunch at noon" --subject Lunch --ttl 2h',
  { line: 'msg send ops main - --kind fact', stdin: 'The build\nis green' },
  'msg send main ops "Until when?" --reply-to $1',
  'msg send ops main "Until 17:00" --reply-to $last',
  'msg send head broadcast "Back at 9"',
  'msg inbox main',
  'msg inbox main 1',
  'msg outbox ops',
  'msg thread $last',
  'msg thread $1',
  'msg unread main',
  'msg read $1',
  'msg read $last',
  'msg read $last --agent ops',
  'msg unread main',
  'msg readall main',
  'msg inbox main',
  'msg outbox nobody',
  'agents get ops',
  'agents remove ops --yes',
  'msg send ops main x --kind gossip',
  'msg send ops main x --priority 3',
  'msg send ops main x --ttl soon',
  'msg send "not a name" main x',
  'msg read nothing',
  'msg thread nothing',
  'agents get nobody',
  'agents register broadcast',
];

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/;

for (const program of ['spine', 'openclaw-scheduler'] as const) {
  for (const json of [false, true]) {
    const file = `mail${program === 'spine' ? '' : '-openclaw-scheduler'}${json ? '-json' : ''}`;
    test(`${file}: messages and agents read as in their golden file [SC-86 SC-87]`, async (t) => {
      const build = program === 'spine' ? {} : { build: buildSchedulerProgram };
      const run = (args: readonly string[], more = {}) =>
        spine(args, { env: envOf(server), ...build, ...more });
      for (const agent of ['ops', 'main']) {
        await server.head.post('/messages/readall', { agent });
        await server.head.request('DELETE', `/agents/${agent}`);
      }
      const known = new Map<string, string>();
      let text = '';
      for (const each of LINES) {
        const { line, stdin } = typeof each === 'string' ? { line: each } : each;
        const filled = line.replaceAll(/\$\w+/g, (name) => known.get(name) ?? name);
        const ran = await run(
          [...words(filled), ...(json ? ['--json'] : [])],
          stdin === undefined ? {} : { stdin },
        );
        const id = UUID.exec(ran.stdout)?.[0];
        if (line.startsWith('msg send') && id !== undefined) {
          if (!known.has('$1')) known.set('$1', id);
          known.set('$last', id);
        }
        text += `$ ${program} ${line}${json ? ' --json' : ''}\n${ran.stdout}`;
        text += ran.stderr.replace(/^/gm, '! ').replace(/! $/, '');
        text += ran.code === 0 ? '\n' : `[exit code ${ran.code}]\n\n`;
      }
      golden(t, file, masked(normal(text)));
    });
  }
}

function masked(text: string): string {
  return text.replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}(?:-[0-9a-f-]*)?\b/g, '<id…>');
}
