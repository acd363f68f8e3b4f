import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf } from './support.ts';
import { golden, type Step, transcript } from './transcript.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
  writeFileSync(join(server.dataDir, 'digest.md'), '# Digest\n\nRead the mail, then write.\n');
});
after(() => server.stop());

/** Rates and times of the machine. */
const masked = (text: string): string =>
  text.replaceAll(/\d[\d,.]*(?=\/s| ms|,?$)/gm, '<n>').replaceAll(/ {2,}/g, ' ');

const doctor: Step = {
  line: 'doctor',
  mask: (text) =>
    text.replaceAll(/[\d.]+ (GiB|background)/g, '<n> $1').replaceAll(/Node [\d.]+/g, 'Node <version>'),
};

const scenarios: Readonly<Record<string, readonly (string | Step)[]>> = {
  status: [
    'status',
    'stats',
    'top --once',
    'jobs add "Look at me" --target nobody',
    'status',
    'stats',
    'top --once',
    'jobs cancel $1',
  ],
  doctor: [doctor],
  types: [
    'types list',
    {
      line: 'types set digest --label "Daily digest" --sop - --schema {"required":["day"]}',
      stdin: '# Digest\n\nRead.\n',
    },
    'types list',
    'types get digest',
    `jobs add --type digest --params '{"night":1}'`,
    `jobs add --type digest --params '{"day":"monday"}' --quiet`,
    'jobs cancel $1 --quiet',
    'types get nothing',
    'types set digest --sop /no/such/file',
    'types set digest --schema {',
  ],
  usage: [
    'usage show',
    'types set digest --retries 2',
    'types set digest --retries -1',
    'usage budgets',
    'usage budget digest --tokens 1000000 --cost 5',
    'usage budgets',
    'usage raise digest',
    'usage budgets',
    'usage budget digest',
    'usage budget nothing --tokens 5',
    'usage budget digest --cost a lot',
    'usage budget digest --none',
    'usage raise digest',
    'usage budgets',
    'pause --door clawdbot',
    'pause',
    'resume --door clawdbot',
    'pause --door front',
  ],
  users: [
    'users list',
    {
      line: 'users add Anna@example.org --name "Anna Muster" --worker --password-stdin',
      stdin: 'correct horse\n',
    },
    { line: 'users add anna@EXAMPLE.org --name Anna --password-stdin', stdin: 'battery staple\n' },
    { line: 'users add bob@example.org --name "Anna Muster" --admin --password-stdin', stdin: 'short\n' },
    {
      line: 'users add bob@example.org --name "Anna Muster" --admin --password-stdin',
      stdin: 'long enough\n',
    },
    'users list',
    'users set bob@example.org --worker --no-admin',
    'users set bob@example.org',
    { line: 'users passwd bob@example.org --password-stdin', stdin: 'another one\n' },
    'users passwd bob@example.org',
    'users remove anna@example.org --yes',
    'users remove anna@example.org --yes',
    'users list --quiet',
  ],
  pools: [
    'pools',
    'pools set gpu --capacity 4',
    'pools set gpu --capacity 4 --per-key 2',
    'pools list',
    'pools remove gpu',
    'pools remove gpu',
    'pools set gpu',
  ],
  workers: [
    'workers list',
    'workers top --once',
    'workers drain nobody',
    'workers unit pm2 slot-1 slot-2',
    'workers unit systemd',
    'workers unit launchd',
    'worker',
    'worker "no name"',
    'worker slot-1 --command agent.sh',
    'worker slot-1 --runner robot',
    'worker slot-1 --concurrency 0',
  ],
  pauses: [
    'pause',
    'pause left-claw',
    'pause --type digest',
    'pause',
    'resume left-claw',
    'resume digest --type',
    'resume',
    'pause left-claw --type digest',
  ],
  tokens: [
    'token list',
    'token add laptop --role worker --target left-claw --target any',
    'token add laptop --role worker',
    'token add wall --role viewer --quiet',
    'token list',
    'token revoke laptop',
    'token revoke nobody',
    'token revoke wall --quiet',
    'token add x --role king',
  ],
  blobs: [
    { line: 'blobs put - --name hello.txt --content-type text/plain', stdin: 'Hello, file.\n' },
    'blobs get $blob',
    'blobs get nothing',
    'blobs put /no/such/file',
    'jobs add "Make a file" --target any',
    'jobs claim $1 --quiet',
    { line: 'blobs put - --name art.txt --job $1 --lease-token $lease', stdin: 'Art.' },
    'blobs list $1',
    'jobs complete $1 --quiet',
  ],
  events: [
    'jobs add "Watch me" --target watched',
    'jobs cancel $1',
    'events tail --after 0 --job $1 --limit 2',
    'events tail --after 0 --target watched --kind job.cancelled --limit 1',
    'events tail --kind job.nonsense',
    'events tail --limit 0',
  ],
  // What doctor says to do about dead jobs is done as it is printed.
  'doctor-dead': [
    'jobs add "Once" --target left-claw --retries 0',
    'jobs claim $1',
    'jobs fail $1 "no network" --lease-token $lease --quiet',
    doctor,
    'jobs list --state dead --quiet',
    'jobs bulk redrive --state dead',
    'jobs cancel $1 --quiet',
  ],
  bench: [{ line: 'bench --jobs 20 --workers 2 --batch 10', mask: masked }, 'bench --jobs 0'],
};

for (const [name, steps] of Object.entries(scenarios)) {
  for (const json of [false, true]) {
    const file = json ? `${name}-json` : name;
    test(`${file} reads as in its golden file`, async (t) => {
      golden(t, file, await transcript(server, steps, { env: envOf(server), json }));
    });
  }
}
