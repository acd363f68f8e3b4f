'use strict';
// Written in old syntax on purpose: this file must run on any Node to be able to say which Node it needs.

var childProcess = require('node:child_process');
var fs = require('node:fs');
var os = require('node:os');
var path = require('node:path');
var findNode = require('./find-node.cjs');

var EXIT_CONFIG = 78;
var LAUNCHED = 'OPENCLAW_LAUNCHED';
var STOP_LIMIT_MS = 30000;

/** Runs the program behind a bin file, on this Node if it is new enough, else on one that is. */
module.exports = function launch(entry) {
  hideEnvironment();
  if (!findNode.isUsable(process.versions.node)) return runOn(newerNode(), entry);
  if (process.env[LAUNCHED]) endWithLauncher();
  // A symlinked bin has another path. The program reads its own name from here.
  process.argv[1] = entry;
  // Compiled code is kept beside the package: without it every start takes 71 % more processor time (630 and 1,080 ms, side
  // by side on a shared 2-core machine). Where that cannot be written, nothing is lost.
  var cache = path.join(__dirname, '../.cache/compile');
  var built = path.join(__dirname, '../dist/main.js');
  var program = fs.existsSync(built) ? built : path.join(__dirname, '../src/main.ts');
  if (program !== built && process.argv[2] === 'serve' && !fs.existsSync(cache))
    require('./compile-ahead.cjs')(cache, entry);
  require('node:module').enableCompileCache(cache);
  return import(urlOf(program));
};

function urlOf(file) {
  return require('node:url').pathToFileURL(file).href;
}

function newerNode() {
  var found = findNode();
  if (found !== null) return found;
  try {
    return require('./fetch-node.cjs')(function (line) {
      console.error('spine needs a newer Node than this ' + process.version + '. ' + line);
    });
  } catch (error) {
    return refuse('none was found, and ' + error.message);
  }
}

function runOn(node, entry) {
  var env = Object.assign({}, process.env);
  env[LAUNCHED] = '1';
  var child = childProcess.spawn(node, process.execArgv.concat(entry, process.argv.slice(2)), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: env,
  });
  child.on('error', function (error) {
    refuse(node + ' does not start: ' + error.message);
  });
  var signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];
  signals.forEach(function (signal) {
    process.on(signal, function () {
      // A terminal sends Ctrl-C to both processes. A second one would read as "stop at once".
      if (signal !== 'SIGINT' || !hasTerminal()) child.kill(signal);
    });
  });
  child.on('exit', function (code, signal) {
    if (!signal) process.exit(code);
    signals.forEach(function (name) {
      process.removeAllListeners(name);
    });
    // Node ignores some signals. Then this code tells of the death.
    process.exitCode = 128 + os.constants.signals[signal];
    process.kill(process.pid, signal);
  });
}

/**
 * Every process of the same user may read /proc/<pid>/environ, a shell command that the server runs above all, and tokens
 * stand there. It shows the memory in which a process got its environment, so the values are copied elsewhere and
 * overwritten there. Only Linux has it; where it cannot be written nothing is lost but this.
 */
function hideEnvironment() {
  if (process.platform !== 'linux') return;
  try {
    var shown = fs.readFileSync('/proc/self/environ');
    var range = environmentRange();
    var memory = fs.openSync('/proc/self/mem', 'r+');
    try {
      overwrite(memory, range, shown);
    } finally {
      fs.closeSync(memory);
    }
  } catch (error) {
    if (!error.syscall) throw error;
  }
}

/** The 50th and 51st of the fields in /proc/self/stat; the second one is a name in brackets, with anything in it. */
function environmentRange() {
  var stat = fs.readFileSync('/proc/self/stat', 'latin1');
  var fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { start: Number(fields[47]), end: Number(fields[48]) };
}

function overwrite(memory, range, shown) {
  var there = Buffer.alloc(shown.length);
  if (!(range.start > 0) || range.end - range.start !== shown.length) return;
  fs.readSync(memory, there, 0, there.length, range.start);
  if (!there.equals(shown)) return;
  var at = 0;
  shown
    .toString('latin1')
    .split('\0')
    .forEach(function (entry) {
      var name = entry.slice(0, entry.indexOf('='));
      var value = process.env[name];
      var from = at + name.length + 1;
      at += entry.length + 1;
      // What is not UTF-8 would not survive the copy.
      if (!name || value === undefined || value.indexOf('\ufffd') !== -1) return;
      process.env[name] = value;
      var length = at - 1 - from;
      if (length > 0) fs.writeSync(memory, Buffer.alloc(length), 0, length, range.start + from);
    });
}

function hasTerminal() {
  return Boolean(process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY);
}

/** SIGKILL cannot be forwarded. The channel to the launcher closes then, and the program stops as on SIGTERM. */
function endWithLauncher() {
  delete process.env[LAUNCHED];
  if (!process.channel) return;
  process.on('disconnect', function () {
    setTimeout(process.exit, STOP_LIMIT_MS, 1).unref();
    process.kill(process.pid, 'SIGTERM');
  });
  // The listener alone would keep a short command from ending.
  process.channel.unref();
}

function refuse(reason) {
  console.error(
    'spine needs Node 24 from 24.15 on, or 26.1 or newer. This is ' +
      process.version +
      '; ' +
      reason +
      '.\nInstall one, from https://nodejs.org or with a version manager, and put it on the PATH: spine finds it there.',
  );
  process.exit(EXIT_CONFIG);
}
