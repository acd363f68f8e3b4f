import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { type RequestBody, SpineClient, type Transport } from '../src/client/index.ts';
import { until } from './client/support.ts';
import { PATH, type Program, program } from './support/debian.ts';
import { freePort, startServer } from './support/server.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../docs/guides/deploy.md'), 'utf8');

interface Proxy {
  readonly name: string;
  readonly folder: 'usr/bin' | 'usr/sbin';
  /** The whole configuration around what the page prints. */
  readonly config: (block: string, folder: string) => string;
  readonly args: (file: string, folder: string) => string[];
}

const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    folder: 'usr/sbin',
    config: (block, folder) =>
      [
        'daemon off;',
        // Its own user could not read the certificate; who is not root is not asked.
        ...(process.getuid?.() === 0 ? ['user root;'] : []),
        `pid ${folder}/nginx.pid;`,
        `error_log ${folder}/nginx.log;`,
        'events {}',
        'http {',
        'access_log off;',
        ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
          (kind) => `${kind}_temp_path ${folder}/${kind};`,
        ),
        block,
        '}',
      ].join('\n'),
    args: (file, folder) => ['-p', folder, '-e', `${folder}/nginx.log`, '-c', file],
  },
  {
    name: 'caddy',
    folder: 'usr/bin',
    config: (block) => `{\n  admin off\n  auto_https disable_redirects\n}\n${block}`,
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
];

const openssl = await program('openssl');
const found = await Promise.all(PROXIES.map(({ name, folder }) => program(name, { folder })));

void suite('behind a proxy', { concurrency: true }, () =>
  PROXIES.forEach((proxy, at) => holds(proxy, found[at])),
);

function holds(proxy: Proxy, found: Program = assert.fail(proxy.name)): void {
  const missing = [found, openssl].flatMap((one) => ('missing' in one ? [one.missing] : []));
  const what = `${proxy.name}, set up as the page says, calls, waiting claims, uploads and the live feed go through TLS`;
  test(what, { timeout: 120_000, skip: missing[0] ?? false }, async (t) => {
    if ('missing' in found) return;
    const port = await freePort();
    await using server = await startServer({ env: { SPINE_ALLOWED_HOSTS: 'spine.example' } });
    const certificate = start(t, found.path, proxy, { port, behind: server.port });
    const clientOf = (token: string): SpineClient => {
      const client = new SpineClient({
        baseUrl: 'https://spine.example',
        token,
        transport: through(port, certificate),
        retries: 0,
      });
      t.after(() => client.close());
      return client;
    };
    const head = clientOf(server.tokens.head);
    const claw = clientOf(server.tokens.left);
    await until(async () => (await head.health().catch(() => ({ ok: false }))).ok);
    const ending = new AbortController();
    const feed = head.events({ signal: ending.signal, lastEventId: '0' });
    const first = feed.next();
    const waiting = claw.jobs.claimNext({ waitMs: 30_000 });
    const { id } = await head.jobs.create({ spec: 'through the proxy' });
    const [job] = await waiting;
    assert.equal(job?.id, id);
    // Held back until a buffer is full it would not come.
    assert.equal((await first).value?.data.jobId, id);
    assert.equal((await feed.next()).value?.type, 'job.claimed');
    ending.abort(new Error('seen'));
    assert.ok((await claw.jobs.heartbeat(job, { progress: 0.5 })).leaseUntil);
    const content = randomBytes(5_000_000);
    const { id: blob } = await claw.blobs.upload(content, { job });
    const back = await (await head.blobs.download(blob)).bytes();
    assert.ok(content.equals(back));
    await claw.jobs.complete(job, { result: 'done' });
    assert.equal((await head.jobs.get(id)).status, 'done');
  });
}

/** Starts the proxy on the port and before the server; gives its certificate. */
function start(
  t: TestContext,
  path: string,
  { name, config, args }: Proxy,
  { port, behind }: { port: number; behind: number },
): string {
  const folder = mkdtempSync(join(tmpdir(), `spine-${name}-`));
  mkdirSync(join(folder, 'logs'));
  const [pem, key, file] = ['spine.pem', 'spine.key', 'config'].map((one) => join(folder, one));
  assert.ok(pem && key && file);
  const names = ['-subj', '/CN=spine.example', '-addext', 'subjectAltName=DNS:spine.example'];
  const made = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    ...names,
    '-keyout',
    key,
    '-out',
    pem,
  ];
  assert.equal(spawnSync('openssl', made, { env: { PATH } }).status, 0);
  const [, block = assert.fail(`no block for ${name}`)] =
    new RegExp(`^\`\`\`${name}\\n([^]*?)^\`\`\`$`, 'm').exec(PAGE) ?? [];
  const here = block
    .replaceAll('/etc/ssl/spine.pem', pem)
    .replaceAll('/etc/ssl/spine.key', key)
    .replaceAll('127.0.0.1:36725', `127.0.0.1:${behind}`)
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace(/^spine\.example \{/m, `https://spine.example:${port} {\n  bind 127.0.0.1`);
  writeFileSync(file, config(here, folder));
  const child = spawn(path, args(file, folder), { env: { PATH, HOME: folder }, stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  t.after(async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  return readFileSync(pem, 'utf8');
}

/** As any client on another machine, but that the name leads to this one. */
function through(port: number, ca: string): Transport {
  const agent = new Agent({ ca, keepAlive: true });
  return {
    send: async ({ method, url, headers, body, signal }) => {
      const { pathname, search, hostname } = new URL(url);
      const whole = await collected(body);
      return new Promise((resolve, reject) => {
        const options = {
          agent,
          method,
          host: '127.0.0.1',
          port,
          servername: hostname,
          path: pathname + search,
          headers: { ...headers, host: hostname, 'content-length': String(whole.length) },
          signal,
        };
        const asking = request(options, (incoming) =>
          resolve({
            status: incoming.statusCode ?? 0,
            header: (name) => String(incoming.headers[name] ?? '') || null,
            text: async () => (await incoming.setEncoding('utf8').toArray()).join(''),
            body: incoming,
          }),
        );
        asking.on('error', reject);
        asking.end(whole);
      });
    },
    close: () => agent.destroy(),
  };
}

async function collected(body: RequestBody | undefined): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0);
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
