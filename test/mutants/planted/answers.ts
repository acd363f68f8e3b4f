/** What callers get to read: answers, refusals, files, and how much of the server each may hold. */

import type { Mutant } from '../mutant.ts';

export const ANSWERS: readonly Mutant[] = [
  {
    name: 'answers-without-room',
    means: 'two dozen lists of large jobs at once take gigabytes',
    file: 'src/http/answer-room.ts',
    find: `return this.#taken + bytes <= most && (held`,
    replace: `return bytes <= most && (held`,
    seenBy: ['test/http/answer-room.test.ts'],
  },
  {
    name: 'answer-room-of-one-for-all',
    means: 'one caller that does not read its answers keeps all others from theirs',
    file: 'src/http/answer-room.ts',
    find: `(held === 0 || held + bytes <= this.#each);`,
    replace: `held >= 0;`,
    seenBy: ['test/http/answer-room.test.ts'],
  },
  {
    name: 'each-run-with-room-of-its-own',
    means: 'a worker keeps all others from their claims: it makes runs that do not read their answers',
    file: 'src/domain/actor.ts',
    find: `return actor.role === 'run' ? \`worker \${actor.name}\` : principalOf(actor);`,
    replace: `return principalOf(actor);`,
    seenBy: ['test/http/answer-room.test.ts', 'test/http/limits.test.ts'],
  },
  {
    name: 'broken-request-keeps-its-socket',
    means: 'whoever sends no HTTP and never hangs up keeps a file descriptor for ever',
    file: 'src/http/unrouted.ts',
    find: `socket.destroySoon();`,
    replace: `socket.end();`,
    seenBy: ['test/http/connections.test.ts'],
  },
  {
    name: 'slow-head-waited-for',
    means: 'callers that send half a head keep their connections for minutes',
    file: 'src/http/connections.ts',
    find: `headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),`,
    replace: `headersTimeout: requestTimeoutMs * 1_000,`,
    seenBy: ['test/http/connections.test.ts'],
  },
  {
    name: 'refused-while-writing',
    means: 'a caller whose body is too large finds the connection closed instead of the reason',
    file: 'src/http/server.ts',
    find: `if (!isUnderWay(raw)) return send();`,
    replace: `if (raw !== null) return send();`,
    seenBy: ['test/http/refusals.test.ts'],
  },
  {
    name: 'search-looks-at-everything',
    means: 'a search for a common word reads every job that has it',
    file: 'src/store/sql/search.ts',
    find: `const WINDOW_JOBS = 2_000;`,
    replace: `const WINDOW_JOBS = 2_000_000;`,
    seenBy: ['test/conformance/sqlite-memory.test.ts'],
    only: 'search|words|look',
  },
  {
    name: 'emptied-artifact-served',
    means: 'an artifact that was emptied on the disk is answered with 200 and nothing in it',
    file: 'src/http/stored-file.ts',
    find: `if (bytes?.size === size) return bytes;`,
    replace: `if (bytes && size >= 0) return bytes;`,
    seenBy: ['test/http/blobs.test.ts'],
  },
  {
    name: 'hash-not-verified',
    means: 'an artifact whose bytes have changed passes the check that was asked for',
    file: 'src/http/stored-file.ts',
    find: `if (verify && (await blobStore.sha256(id)) !== sha256)`,
    replace: `if (verify && (await blobStore.sha256(id)) === null)`,
    seenBy: ['test/http/blobs.test.ts'],
  },
];
