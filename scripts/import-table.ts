/** What each part of src/ may import besides itself. `npm run check` holds it, and writes it into CONTRIBUTING.md. */

export interface Row {
  /** What lies there, for the page. */
  readonly holds: string;
  /** The other parts that it may import. `types of x` allows what is erased before the program runs. */
  readonly parts: readonly string[];
  /** The packages; here, too, `types of x`. */
  readonly packages?: readonly string[];
  /** Node's own modules, without `node:`; `fs` allows `fs/promises` too. */
  readonly node?: readonly string[];
}

/** These put the house together: they may import everything. */
export const EVERYTHING = ['app', 'main'];

/**
 * A part is a folder, or a file that stands alone. `store interface` is what callers of the store may know: types, made of
 * its queries, and none of its databases. `a door` is each folder in http/doors/: none may import another, and http/
 * itself knows none.
 *
 * The domain imports two packages and nothing of Node, since its rules must give the same answer everywhere and at any
 * time. Both are functions of their arguments: croner finds the next instant of a cron rule after a given one, and
 * re2js matches what a user wrote in linear time.
 */
export const IMPORT_TABLE: Readonly<Record<string, Row>> = {
  domain: { holds: 'pure rules and types', parts: [], packages: ['croner', 're2js'] },
  'store interface': { holds: 'what callers of the store may know', parts: ['types of store'] },
  disk: { holds: 'what makes names on disk durable', parts: [], node: ['fs', 'path'] },
  store: {
    holds: 'the databases behind the `Store` interface',
    parts: ['domain', 'store interface', 'disk'],
    packages: ['pg'],
    node: ['crypto', 'fs', 'path', 'sqlite'],
  },
  engine: {
    holds: 'one group of commands in each file',
    parts: ['domain', 'store interface'],
    node: ['async_hooks', 'crypto'],
  },
  loops: {
    holds: 'background work',
    parts: ['engine', 'domain', 'channels', 'prompt', 'blobs', 'objects'],
  },
  files: {
    holds: 'the journal and the files for each job',
    parts: ['domain', 'store interface', 'disk'],
    node: ['crypto', 'fs', 'path', 'util', 'zlib'],
  },
  blobs: {
    holds: 'artifacts',
    parts: ['domain', 'disk', 'types of objects'],
    node: ['crypto', 'fs', 'path', 'stream'],
  },
  objects: {
    holds: 'large data of tasks, in a bucket or a folder',
    parts: ['domain', 'disk'],
    packages: ['@bradenmacdonald/s3-lite-client'],
    node: ['fs', 'path'],
  },
  backup: {
    holds: 'snapshots in folders and buckets, and the way back',
    parts: ['store interface', 'store', 'disk', 'files'],
    packages: ['@bradenmacdonald/s3-lite-client'],
    node: ['crypto', 'fs', 'path'],
  },
  channels: {
    holds: 'what leaves the house, and the ways it goes',
    parts: ['domain'],
    node: ['crypto', 'dns', 'http'],
  },
  gateway: {
    holds: 'the client of an OpenClaw gateway',
    parts: ['domain'],
    node: ['child_process', 'http', 'stream'],
  },
  prompt: { holds: 'what an agent is told', parts: ['domain'], node: ['crypto'] },
  import: {
    holds: 'v0 data dirs, rebuild',
    parts: ['domain', 'store interface', 'files'],
    node: ['crypto', 'fs', 'path'],
  },
  http: {
    holds: 'the server, and what its doors share',
    parts: ['engine', 'domain', 'blobs', 'objects'],
    packages: ['@fastify/multipart', 'ajv', 'fastify', 'types of typebox'],
    node: ['buffer', 'crypto', 'http', 'net', 'perf_hooks'],
  },
  'a door': {
    holds: 'one door in each folder of http/doors',
    parts: ['http', 'engine', 'domain', 'blobs'],
    packages: ['types of @fastify/multipart', 'types of fastify', 'types of typebox'],
    node: ['crypto', 'fs', 'stream'],
  },
  'list of doors': { holds: 'http/doors.ts', parts: ['http', 'a door'] },
  client: {
    holds: 'the typed client and the Worker class',
    parts: [],
    node: ['http', 'https', 'stream'],
  },
  worker: {
    holds: 'the built-in worker and its runners',
    parts: ['client', 'gateway', 'prompt'],
    node: ['child_process', 'events', 'fs', 'stream'],
  },
  cli: {
    holds: 'commands',
    parts: ['client'],
    packages: ['commander', 'yaml'],
    node: ['crypto', 'fs', 'path', 'sqlite', 'url', 'util'],
  },
  runtime: {
    holds: 'the real clock, randomness, ids and threads',
    parts: ['domain'],
    node: ['crypto', 'fs', 'http', 'module', 'os', 'path', 'perf_hooks', 'v8', 'vm', 'worker_threads'],
  },
  config: {
    holds: 'the table of settings; the only reader of the environment',
    parts: ['domain'],
    node: ['net'],
  },
  tokens: { holds: 'the tokens of the environment', parts: ['config', 'disk'], node: ['fs', 'net', 'path'] },
};
