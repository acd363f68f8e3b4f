import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { SpineClient } from 'openclaw-spine/client';

const client = new SpineClient({ baseUrl: process.env.SPINE_BASE_URL, token: process.env.SPINE_TOKEN });

const lastEventId = existsSync('place.txt') ? readFileSync('place.txt', 'utf8') : '0';
for await (const { id, type, data } of client.events({ lastEventId })) {
  console.log(type, data.jobId);
  writeFileSync('place.txt', id);
}
