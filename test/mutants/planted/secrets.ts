/** What must not be told, and whose words are whose. */

import type { Mutant } from '../mutant.ts';

export const SECRETS: readonly Mutant[] = [
  {
    name: 'tokens-in-the-service-log',
    means: 'the first start writes its tokens into the log of the service manager',
    file: 'src/app/greeting.ts',
    find: `const shown = app.tokensMade && terminal;`,
    replace: `const shown = app.tokensMade || terminal;`,
    seenBy: ['test/app/greeting.test.ts'],
  },
  {
    name: 'environment-in-sight',
    means: 'a shell command reads the tokens of its server from /proc',
    file: 'bin/launcher.cjs',
    find: `  hideEnvironment();
`,
    replace: ``,
    seenBy: ['test/app/environment.test.ts'],
  },
  {
    name: 'environment-handed-to-commands',
    means: 'every shell command is given the tokens of its server',
    file: 'src/app/shell-commands.ts',
    find: `    env: {},
`,
    replace: ``,
    seenBy: ['test/app/environment.test.ts'],
  },
  {
    name: 'environment-handed-to-openclaw',
    means:
      'while the openclaw command runs, any shell command reads the tokens of the server from its environment',
    file: 'src/app/embedded-worker.ts',
    find: `environmentBut(OWN_SETTINGS)`,
    replace: `environmentBut([])`,
    seenBy: ['test/app/environment.test.ts'],
    only: 'the command of OpenClaw',
  },
  {
    name: 'parent-output-unquoted',
    means: 'what a parent printed passes for the words of the scheduler',
    file: 'src/prompt/quote.ts',
    find: 'return `<data ${nonce}>\\n${plain(text)',
    replace: 'return `${plain(text)',
    seenBy: ['test/prompt/prompt.test.ts'],
  },
  {
    name: 'names-of-several-lines',
    means: 'the name of a parent schedule forges a note of the scheduler',
    file: 'src/prompt/quote.ts',
    find: `.replaceAll(/[\\p{Cc}\\p{Zl}\\p{Zp}]+/gu, ' ')`,
    replace: `.replaceAll(/[\\t]+/gu, ' ')`,
    seenBy: ['test/prompt/prompt.test.ts'],
  },
  {
    name: 'foreign-dependency-judged',
    means: 'a worker learns how a job ended that it may not see',
    file: 'src/engine/creation-batch.ts',
    find: `if (parent === null || !(mayTouch(actor, parent) || isSibling(actor, own, parent))) return null;`,
    replace: `if (parent === null || own === parent) return null;`,
    seenBy: ['test/engine/dependencies.test.ts'],
  },
  {
    name: 'webhook-replayed',
    means: 'an overheard notice can be sent again for ever',
    file: 'src/channels/signature.ts',
    find: 'update(`${seconds}.${id}.${body}`)',
    replace: 'update(body)',
    seenBy: ['test/channels/webhook.test.ts'],
  },
  {
    name: 'webhook-id-unsigned',
    means: 'an overheard notice can be sent again under a new id',
    file: 'src/channels/signature.ts',
    find: 'update(`${seconds}.${id}.${body}`)',
    replace: 'update(`${seconds}.${body}`)',
    seenBy: ['test/channels/webhook.test.ts'],
  },
  {
    name: 'agent-without-its-calls',
    means: 'an agent at a gateway has neither address nor token, and cannot spawn',
    file: 'src/prompt/prompt.ts',
    find: `accessSection(access),`,
    replace: ``,
    seenBy: ['test/prompt/prompt.test.ts', 'test/scheduler/agent-access.test.ts'],
  },
  {
    name: 'agent-token-of-an-earlier-dispatch',
    means: 'a token from the transcript of a turn that was given up still acts for the run',
    file: 'src/engine/tokens.ts',
    find: `if (run?.dispatchedAt !== dispatchedAt) return null;`,
    replace: `if (run === null) return null;`,
    seenBy: ['test/engine/turn-tokens.test.ts'],
  },
];
