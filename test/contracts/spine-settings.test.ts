import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert';
import { readFile, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { loadConfig } from '../../src/config.ts';
import { httpClient } from '../support/http.ts';
import { startServer } from '../support/server.ts';
import { claimJob, createJob, expectStatus } from './spine-cases.ts';

const NO_TOKENS = { HEAD_TOKEN: '', LEFT_CLAW_TOKEN: '', RIGHT_CLAW_TOKEN: '' };

suite("v0's settings", () => {
  test('[SP-01 SP-02 SP-05 SP-20 SP-34 SP-36] have the defaults of v0', () => {
    const { port, host, leaseMs, reaperIntervalMs, defaultMaxAttempts, skillMdPath } = loadConfig({});
    deepStrictEqual(
      { port, host, leaseMs, reaperIntervalMs, defaultMaxAttempts },
      {
        port: 36725,
        host: '127.0.0.1',
        leaseMs: 300_000,
        reaperIntervalMs: 30_000,
        defaultMaxAttempts: 5,
      },
    );
    match(skillMdPath, /SKILL\.md$/);
  });

  test('[SP-01 SP-02] the server listens where it is told, and on loopback alone unless told otherwise', async () => {
    await using server = await startServer();
    expectStatus(await server.anyone.get('/health'), 200);
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.family === 'IPv4' && !each.internal);
    if (outside) strictEqual(await canConnect(outside.address, server.port), false);
  });

  test('[SP-20 SP-34] LEASE_SECONDS and DEFAULT_MAX_ATTEMPTS are obeyed', async () => {
    await using server = await startServer({ env: { LEASE_SECONDS: '90', DEFAULT_MAX_ATTEMPTS: '2' } });
    const { id, maxAttempts } = await createJob(server.head);
    strictEqual(maxAttempts, 2);
    const job = await claimJob(server.left, id);
    strictEqual(Date.parse(job.leaseUntil ?? '') - Date.parse(String(job['updatedAt'])), 90_000);
  });

  test('[SP-11] tokens are read from the single name and the list, and both work', async () => {
    const env = { LEFT_CLAW_TOKENS: 'the-old-left-claw-token-123456,the-new-left-claw-token-123456' };
    await using server = await startServer({ env });
    for (const token of [server.tokens.left, ...env.LEFT_CLAW_TOKENS.split(',')]) {
      const client = httpClient(server.url, { token });
      expectStatus(await client.get('/jobs'), 200);
      expectStatus(await client.post('/jobs/claim', {}), 200);
      client.close();
    }
  });

  test('[SP-12] without any token a loopback server makes its own, for its owner alone', async () => {
    await using server = await startServer({ env: NO_TOKENS });
    const file = join(server.dataDir, 'tokens.json');
    strictEqual((await stat(file)).mode & 0o777, 0o600);
    const { head } = JSON.parse(await readFile(file, 'utf8')) as { head: string };
    ok(head.length >= 24);
    const client = httpClient(server.url, { token: head });
    expectStatus(await client.get('/jobs'), 200);
    expectStatus(await server.anyone.get('/jobs'), 401);
    client.close();
  });

  test('[SP-12] without any token a server that others could reach does not start', async () => {
    await rejects(startServer({ env: { ...NO_TOKENS, SPINE_HOST: '0.0.0.0' } }), /exit code 78/);
  });
});

function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
