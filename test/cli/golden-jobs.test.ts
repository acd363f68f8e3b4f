import { after, before, test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf } from './support.ts';
import { golden, type Step, transcript } from './transcript.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

/** Every scenario tags its jobs, so that its lists show no others. */
const scenarios: Readonly<Record<string, (tag: string) => readonly (string | Step)[]>> = {
  // First, while nothing else waits to be claimed.
  'jobs-claim': () => [
    'jobs claim',
    'jobs claim --wait 50ms',
    'jobs claim --target somebody-else',
    'jobs add "For the left claw"',
    'jobs claim',
    'jobs complete $1 done --as left-claw --lease-token $lease',
    'jobs add "For the right one" --target right-claw',
    'jobs claim --target right-claw --quiet',
    'jobs complete $2',
    'jobs wait $1 $2 --timeout 10s',
    'jobs add "Nobody does this" --target nobody',
    'jobs wait $3 --timeout 60ms',
    'jobs cancel $3',
    'jobs add "Nobody does this either" --target nobody --wait --timeout 60ms',
  ],
  'jobs-life': (tag) => [
    `jobs list --tag ${tag}`,
    `jobs add "Update the changelog" --target any --title "The changelog" --tag ${tag} -p 3 --meta '{"for":"ada"}'`,
    `jobs list --tag ${tag}`,
    'jobs get $1',
    'jobs claim $1',
    `jobs heartbeat $1 --progress '{"percent":40}' --lease-token $lease`,
    'jobs comment $1 "Looks good"',
    `jobs complete $1 '{"commit":"4f2c1a"}' --lease-token $lease`,
    'jobs wait $1',
    'jobs get $1 --events',
    { line: 'jobs attempts $1', mask: (text) => text.replaceAll(/ +\d+(ms|s)\b/g, '  <took>') },
    `jobs list --tag ${tag} --state done --quiet`,
  ],
  'jobs-asked': (tag) => [
    `jobs add "Ask for much" --tag ${tag} --run-at 2d --start-before 3d --lease 90s --time-limit 1h --requires gpu --announce --approval --retries 2 --backoff 10s`,
    'jobs get $1',
    'jobs cancel $1',
  ],
  'jobs-trouble': (tag) => [
    `jobs add "Try hard" --target any --tag ${tag} --max-attempts 1`,
    `jobs add "Give up" --target any --tag ${tag}`,
    'jobs claim $1',
    'jobs claim $1 --as right-claw',
    'jobs complete $1 --lease-token wrong-token-wrong-token',
    'jobs fail $1 "no network" --lease-token $lease',
    'jobs wait $1',
    'jobs claim $1',
    'jobs redrive $1',
    'jobs claim $2',
    'jobs fail $2 "the branch is gone" --no-requeue --lease-token $lease',
    'jobs retry $2',
    'jobs claim $2',
    'jobs release $2 --reason "my shift ends" --lease-token $lease',
    'jobs retry $2',
    'jobs redrive $2',
    'jobs release $2',
    'jobs claim $2',
    'jobs snooze $2 --until 2h --lease-token $lease',
    'jobs cancel $1 --reason "not needed"',
    'jobs cancel $1 $2',
    'jobs complete $1',
    'jobs snooze $1 --until 2h',
    `jobs list --tag ${tag} --oldest`,
    `jobs list --tag ${tag} --state awaiting_approval --limit 3`,
    'jobs add x --max-attempts 0',
    'jobs add x --lease 1ms',
    'jobs add x --retries 5000 --backoff 1m30s',
    'jobs add x --tag a --tag "" --priority 3',
    'jobs get 999999999',
    'approvals approve nobody',
  ],
  'jobs-many': (tag) => [
    {
      line: `jobs add - --tag ${tag}`,
      stdin: '{"target":"any","spec":"one"}\n{"target":"any","spec":{"two":2}}\n',
    },
    {
      line: `jobs add - --target any --tag ${tag}`,
      stdin: `[{"title":"three of ${tag.replaceAll('-', ' ')}"}]`,
    },
    { line: `jobs add - --target any --tag ${tag} --quiet`, stdin: '{"title":"four"}' },
    { line: 'jobs add -', stdin: 'not json' },
    { line: 'jobs add -', stdin: '' },
    `jobs add "After one" --target any --tag ${tag} --after $1 --unique-key only-${tag}`,
    `jobs add "After one" --target any --tag ${tag} --unique-key only-${tag}`,
    `jobs add "Later" --target any --tag ${tag} --run-at 90m`,
    `jobs list --tag ${tag} --limit 2`,
    `jobs list --tag ${tag} --all --oldest`,
    `jobs list --search "three of" --tag ${tag}`,
    'jobs add',
    'jobs add x --run-at tomorrow',
    'jobs add x --params {',
    'jobs list --limit 0',
    'jobs cancel $5 $6 $4 $3 $2 $1 --quiet',
  ],
  'jobs-bulk': (tag) => [
    {
      line: `jobs add - --tag ${tag}`,
      stdin: '{"target":"nobody","spec":"one"}\n{"target":"nobody","spec":"two"}\n',
    },
    `jobs change $1 --priority 5 --run-at 2h --tag ${tag} --tag later`,
    'jobs change $1',
    `jobs bulk cancel --tag ${tag} --dry-run`,
    `jobs bulk cancel --tag ${tag}`,
    `jobs bulk retry --tag ${tag} --state cancelled`,
    'jobs bulk cancel',
    `jobs bulk explode --tag ${tag}`,
    'jobs remove $1',
    `jobs bulk cancel --tag ${tag} --quiet`,
    'jobs remove $1',
    'jobs get $1 --quiet',
  ],
  'jobs-logs': () => [
    'jobs add "Talk" --target any',
    'jobs logs $1',
    'jobs claim $1 --quiet',
    { line: 'jobs logs $1', before: 'log' },
    'jobs logs $1 --level warn',
    'jobs logs $1 --after 2',
    { line: 'jobs logs $1 -f', before: 'complete' },
  ],
  'jobs-names': () => [
    'jobs add "By any name" --target any',
    'jobs get "#$no"',
    'jobs get $no --quiet',
    { line: 'jobs get $prefix --quiet', hide: true },
    'jobs get 999999',
    'jobs get 00000000-0000-7000-8000-000000000000',
    'jobs get zzzz',
    'jobs get "#nonsense"',
    'jobs get "../../etc/passwd"',
    'jobs cancel $1 --quiet',
  ],
  questions: (tag) => [
    'questions list',
    `jobs add "Ship it" --target any --tag ${tag} --title "The release"`,
    'jobs claim $1',
    'jobs checkpoint $1 "built and signed" --lease-token $lease',
    'jobs ask $1 "Ship it?" --to nobody-knows --timeout never --lease-token $lease',
    'jobs ask $1 "Ship it?" --to @nowhere --timeout 2h --lease-token $lease',
    'jobs ask $1 "Ship it?" --to ada --choice yes --choice no --timeout 2h --default no --lease-token $lease',
    'questions list --job $1',
    'questions get $question',
    'jobs get $1',
    'questions answer $question maybe',
    'questions answer $question yes',
    'questions answer $question no',
    'questions list --job $1',
    'questions list --all --job $1',
    'jobs claim $1',
    'jobs complete $1 --lease-token $lease',
    'questions get 019a5c3e-0000-7000-8000-000000000000',
  ],
};

for (const [name, steps] of Object.entries(scenarios)) {
  for (const json of [false, true]) {
    const file = json ? `${name}-json` : name;
    test(`${file} reads as in its golden file`, async (t) => {
      golden(t, file, await transcript(server, steps(file), { env: envOf(server), json }));
    });
  }
}
