'use strict';
/**
 * Whoever reads the sources for the first time keeps memory that it needs for nothing else. A server runs for days, so
 * other processes read them, and the server finds them compiled: at its first start from sources it takes 93 MB at rest
 * instead of 117, and 115 instead of 145 once it has had a job, side by side on a shared 2-core machine. That start takes
 * twice the processor time for it. Should it fail, the server reads the sources itself.
 */

const childProcess = require('node:child_process');
const path = require('node:path');
const url = require('node:url');

const LIMIT_MS = 20_000;
const THREAD = ['app/files-thread.ts', 'store/sqlite-reader.ts'];

module.exports = function compileAhead(cache, entry) {
  const compiled = (flags, sources) =>
    childProcess.spawnSync(process.execPath, [__filename, cache, entry, flags, ...sources], {
      stdio: 'ignore',
      timeout: LIMIT_MS,
    });
  compiled('', ['app.ts', 'main.ts']);
  // Compiled code is kept by V8's flags, and a server has set its own when its thread starts.
  compiled('HEAP_FLAGS', THREAD);
  compiled('GROWN_HEAP_FLAGS', THREAD);
};

if (require.main === module) void compile(...process.argv.slice(2));

async function compile(cache, entry, flags, ...sources) {
  if (flags !== '') {
    const heap = await import(urlOf('runtime/heap.ts'));
    for (const flag of heap[flags]) require('node:v8').setFlagsFromString(flag);
  }
  require('node:module').enableCompileCache(cache);
  // The command that loads what `spine serve` does besides the server, and ends.
  process.argv = [process.execPath, entry, 'config'];
  for (const file of sources) await import(urlOf(file));
}

function urlOf(file) {
  return url.pathToFileURL(path.join(__dirname, '../src', file)).href;
}
