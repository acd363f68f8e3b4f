import { SpineClient, Worker } from 'openclaw-spine/client';

/** @type {SpineClient<{ publish: { spec: { version: string } } }>} */
const client = new SpineClient({ baseUrl: process.env.SPINE_BASE_URL, token: process.env.SPINE_TOKEN });

const worker = new Worker({
  client,
  targets: ['left-claw', 'any'],
  handleSignals: true,
  handler: async (job, { ask, checkpoint, lastCheckpoint }) => {
    const built = /** @type {{ file: string } | undefined} */ (lastCheckpoint) ?? {
      file: `${job.spec.version}.tgz`,
    };
    await checkpoint(built);
    const when = await ask({
      question: `Publish ${built.file} now?`,
      to: '@ops',
      choices: ['yes', 'tomorrow'],
      timeoutMs: 8 * 3_600_000,
      default: 'tomorrow',
    });
    return { file: built.file, when };
  },
});
await worker.run();
