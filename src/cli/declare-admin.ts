/** What an operator sets up and watches: types, pools, pauses, tokens, events, files. */

import { type Command, Option } from 'commander';
import { type Act, collect, declare, LEASE_TOKEN, milliseconds, whole } from './command.ts';

export function declareAdmin(program: Command, act: Act): void {
  declareTypes(program, act);
  declarePools(program, act);
  declarePauses(program, act);
  declareTokens(program, act);
  declareEvents(program, act);
  declareBlobs(program, act);
}

function declareTypes(program: Command, act: Act): void {
  const types = declare(program, 'types', 'Types of jobs: how they are done and what they take.', [
    ['spine types set digest --sop digest.md', 'how digests are made, from a file'],
    ['spine types list', 'all of them'],
  ]);
  declare(types, 'list', 'List the types.', [['spine types list', 'name, label and whether it has a schema']])
    .alias('ls')
    .action(act(async () => (await import('./commands/types.ts')).listTypes));
  declare(types, 'get', 'Show a type with its instructions and schema.', [
    ['spine types get digest', 'for people'],
    ['spine types get digest --json', 'for programs'],
  ])
    .argument('<name>', 'of the type')
    .action(act(async () => (await import('./commands/types.ts')).getType));
  declare(types, 'set', 'Create a type or change it.', [
    ['spine types set digest --label "Daily digest" --sop digest.md', 'instructions from a file'],
    [`spine types set digest --schema '{"required":["day"]}'`, 'a JSON Schema of the params'],
  ])
    .argument('<name>', 'of the type')
    .option('--label <text>', 'its name for people')
    .option('--sop <file>', 'how such jobs are done: a file, or - for standard input')
    .option('--schema <json>', 'JSON Schema of the params: JSON, a file, or - for standard input')
    .option(
      '--retries <number>',
      'how often its jobs are tried again after a failure, unless they say so themselves',
      whole,
    )
    .option('--backoff <duration>', 'how long a failed one waits, then twice as long each time', milliseconds)
    .option('--scoring <json>', 'points for its jobs, e.g. {"tags":{"watchlist":4},"perHour":1}')
    .option('--provider <name>', 'whose limits its jobs run into: one that is reported parks them all')
    .action(act(async () => (await import('./commands/types.ts')).setType));
}

function declarePools(program: Command, act: Act): void {
  const pools = declare(program, 'pools', 'Pools limit how many jobs run at once.', [
    ['spine pools', 'list them'],
    ['spine pools set gpu --capacity 4 --per-key 1', 'four at once, one for each concurrency key'],
  ]);
  pools
    .command('list', { isDefault: true })
    .description('List the pools.')
    .alias('ls')
    .action(act(async () => (await import('./commands/pools.ts')).listPools));
  declare(pools, 'set', 'Create a pool or change it.', [['spine pools set gpu --capacity 4', 'four at once']])
    .argument('<name>', 'of the pool')
    .requiredOption('--capacity <number>', 'how many jobs at once', whole)
    .option('--per-key <number>', 'how many of one concurrency key at once', whole)
    .action(act(async () => (await import('./commands/pools.ts')).setPool));
  declare(pools, 'remove', 'Remove a pool; its jobs run without its limit.', [
    ['spine pools remove gpu', 'asks first on a terminal'],
  ])
    .argument('<name>', 'of the pool')
    .option('-y, --yes', 'do not ask')
    .action(act(async () => (await import('./commands/pools.ts')).removePool));
}

function declarePauses(program: Command, act: Act): void {
  declare(
    program,
    'pause',
    'Stop handing out the jobs of a target or type, or at a door; without a name, list what is paused.',
    [
      ['spine pause left-claw', 'nothing more for the left claw'],
      ['spine pause --type digest', 'no digests'],
      ['spine pause', 'what is paused'],
    ],
  )
    .argument('[name]', 'of the target, or of the type with --type')
    .option('--type [name]', 'a type instead of a target')
    .option('--door <name>', 'a door: clawdbot, whose queue workers pull from')
    .option('--provider <name>', 'all types of a provider')
    .action(act(async () => (await import('./commands/pauses.ts')).pause));
  declare(program, 'resume', 'Hand out its jobs again.', [
    ['spine resume left-claw', 'a target'],
    ['spine resume --type digest', 'a type'],
  ])
    .argument('[name]', 'of the target, or of the type with --type')
    .option('--type [name]', 'a type instead of a target')
    .option('--door <name>', 'a door: clawdbot, whose queue workers pull from')
    .option('--provider <name>', 'all types of a provider')
    .action(act(async () => (await import('./commands/pauses.ts')).resume));
}

function declareTokens(program: Command, act: Act): void {
  const token = declare(program, 'token', 'Tokens beyond the ones in the settings.', [
    ['spine token add laptop --role worker --target left-claw', 'prints the token once'],
    ['spine token revoke laptop', 'at once'],
  ]);
  declare(token, 'add', 'Make a token; it is shown this once.', [
    ['spine token add laptop --role worker --target left-claw --target any', 'a worker'],
    ['export SPINE_TOKEN=$(spine token add wall --role viewer --quiet)', 'just the token'],
  ])
    .argument('<name>', 'what to call it')
    .addOption(
      new Option('--role <role>', 'what it may do')
        .choices(['head', 'worker', 'viewer'])
        .makeOptionMandatory(),
    )
    .option('-t, --target <name>', 'only for this target; may be repeated', collect)
    .option('--grant <kind>', 'may send constraint or decision to other agents; may be repeated', collect)
    .action(act(async () => (await import('./commands/tokens.ts')).addToken));
  declare(token, 'list', 'List the tokens; the tokens themselves are not kept.', [
    ['spine token list', 'all of them'],
  ])
    .alias('ls')
    .action(act(async () => (await import('./commands/tokens.ts')).listTokens));
  declare(token, 'revoke', 'End a token at once.', [
    ['spine token revoke laptop', 'asks first on a terminal'],
  ])
    .argument('<name>', 'or id of the token')
    .option('-y, --yes', 'do not ask')
    .action(act(async () => (await import('./commands/tokens.ts')).revokeToken));
  declare(
    token,
    'renew',
    'Make new tokens for head, left-claw and right-claw straight in the database of DATABASE_URL; the old ones end.',
    [
      ['spine token renew', 'when tokens.json was lost, or somebody else has seen it'],
      ['spine token renew --yes', 'before the first server of another host than loopback'],
    ],
  )
    .option('-y, --yes', 'do not ask')
    .action(act(async () => (await import('./commands/tokens.ts')).renewTokens));
}

function declareEvents(program: Command, act: Act): void {
  const events = declare(program, 'events', 'What happens to jobs.', [
    ['spine events tail', 'as it happens'],
  ]);
  declare(
    events,
    'tail',
    'Print events as they happen, until Ctrl-C. A broken connection is taken up again.',
    [
      ['spine events tail', 'everything from now on'],
      ['spine events tail --target left-claw --kind job.failed', 'only some'],
      ['spine events tail --after 0 --limit 10 --json', 'the first ten there are'],
    ],
  )
    .option('-t, --target <name>', 'only of this target; may be repeated', collect)
    .option('--kind <kind>', 'only events of this kind, for example job.failed; may be repeated', collect)
    .option('--job <job>', 'only of this job')
    .option('--after <event>', 'go on after the event of this id; 0 for the beginning')
    .option('-n, --limit <number>', 'end after so many', whole)
    .action(act(async () => (await import('./commands/events.ts')).tailEvents));
}

function declareBlobs(program: Command, act: Act): void {
  const blobs = declare(program, 'blobs', 'Files: uploads and artifacts of jobs.', [
    ['spine blobs put report.pdf', 'prints its id'],
    ['spine blobs get 019a5c3e-… -o report.pdf', 'and back'],
  ]);
  declare(blobs, 'put', 'Upload a file.', [
    ['spine blobs put report.pdf', 'a file'],
    ['spine blobs put report.pdf --job 12', 'as an artifact of a job'],
    ['date | spine blobs put - --name date.txt', 'from standard input'],
  ])
    .argument('<file>', 'the file; - for standard input')
    .option('--name <filename>', 'another name for it')
    .option('--content-type <type>', 'for example text/plain')
    .option('--job <job>', 'makes it an artifact of this job')
    .option(...LEASE_TOKEN)
    .action(act(async () => (await import('./commands/blobs.ts')).putBlob));
  declare(blobs, 'get', 'Download a file.', [
    ['spine blobs get 019a5c3e-…', 'to standard output'],
    ['spine blobs get 019a5c3e-… -o report.pdf', 'to a file, checked by its SHA-256'],
  ])
    .argument('<id>', 'of the file')
    .option('-o, --output <file>', 'where to write it; must not exist')
    .option('--force', 'write over a file that exists')
    .action(act(async () => (await import('./commands/blobs.ts')).getBlob));
  declare(blobs, 'list', 'List the artifacts of a job.', [['spine blobs list 12', 'of job 12']])
    .alias('ls')
    .argument('<job>', 'its number or id')
    .action(act(async () => (await import('./commands/blobs.ts')).listBlobs));
}
