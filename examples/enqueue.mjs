import { SpineClient } from 'openclaw-spine/client';

const client = new SpineClient({ baseUrl: process.env.SPINE_BASE_URL, token: process.env.SPINE_TOKEN });

const job = await client.jobs.create({ target: 'left-claw', title: 'A short nap', spec: { ms: 100 } });
console.log(`Job ${job.id} is ${job.status}`);

for await (const { title, status } of client.jobs.list({ target: 'left-claw' })) console.log(title, status);
