/** Tells other programs on this machine where the server is: `server.json` in the data dir, for its owner's eyes only. */

import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes the file; the returned function takes it away again. */
export function announceServer(dataDir: string, url: string): () => void {
  const file = join(dataDir, 'server.json');
  const part = `${file}.${process.pid}`;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(part, `${JSON.stringify({ url, pid: process.pid })}\n`, { mode: 0o600 });
  renameSync(part, file);
  return () => rmSync(file, { force: true });
}
