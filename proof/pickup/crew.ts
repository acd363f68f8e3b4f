/**
 * Many workers with the demo in one process, so that a machine has the memory for them: node crew.ts <url> <head's token> <count>.
 * To the server each is a worker of its own, with its own token, slot, long poll and heartbeats. Says "ready" when all wait.
 */

import { hostname } from 'node:os';
import { workerToken } from '../../src/app/worker-token.ts';
import { Caller } from '../../src/client/caller.ts';
import { systemPlatform as platform } from '../../src/client/platform.ts';
import { loadConfig } from '../../src/config.ts';
import { demoRunner } from '../../src/worker/sessions/demo-runner.ts';
import { thisProcess } from '../../src/worker/service/predecessor.ts';
import { WorkerService } from '../../src/worker/service/worker-service.ts';

const [url = '', head = '', count = '0'] = process.argv.slice(2);
// The defaults of `spine worker`.
const { idleBeatMs, workingBeatMs, workerPollMs, workerDrainMs, sessionTimeoutMs, sessionTimeoutMaxMs } =
  loadConfig({});
const silent = { info: () => undefined, warn: () => undefined };

let ready = 0;
const running: Promise<void>[] = [];
for (let n = 1; n <= Number(count); n++) {
  const slot = `crew-${n}`;
  const { token } = await workerToken(url, head, slot, thisProcess(hostname()));
  const service = new WorkerService({
    slot,
    target: slot,
    capabilities: [],
    runner: demoRunner,
    caller: new Caller({ baseUrl: url, token, platform, retries: 2, timeoutMs: 30_000 }),
    platform,
    log: silent,
    url,
    about: {},
    process: thisProcess(hostname()),
    wallMs: () => Date.now(),
    defaultDir: null,
    idleBeatMs,
    workingBeatMs,
    pollMs: workerPollMs,
    drainMs: workerDrainMs,
    sessionTimeoutMs,
    sessionTimeoutMaxMs,
    onStarted: () => {
      if (++ready === Number(count)) process.stdout.write('ready\n');
    },
  });
  running.push(service.run());
}
await Promise.all(running);
