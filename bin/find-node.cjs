'use strict';
// Written in old syntax on purpose: whatever Node a machine has must be able to look for a newer one.

var childProcess = require('node:child_process');
var fs = require('node:fs');
var os = require('node:os');
var path = require('node:path');

var isWindows = process.platform === 'win32';
var BINARY = isWindows ? 'node.exe' : 'node';
var ANSWER_LIMIT_MS = 10000;

/** node:sqlite is fit for production from 24.15 and, in the next line, from 26.1. */
function isUsable(version) {
  var parts = version.replace(/^v/, '').split('.').map(Number);
  if (parts[0] === 24) return parts[1] >= 15;
  if (parts[0] === 26) return parts[1] >= 1;
  return parts[0] > 26;
}

/** The package that has a Node for this machine, as `name@version`; null where there is none. */
function nodePackage() {
  var platform = isWindows ? 'win' : process.platform;
  var target = platform + '-' + process.arch;
  var name = (target === 'darwin-arm64' ? 'node-bin-' : 'node-') + target;
  var known = Object.keys(require('./node-sums.json')).filter(function (spec) {
    return spec.split('@')[0] === name;
  });
  return known.length > 0 ? known[0] : null;
}

/** A Node that is new enough, from the nearest place that has one; null when this machine has none. */
module.exports = function findNode() {
  return installedNode() || fetchedNode() || nodeOfPath() || nodeOfManagers();
};
module.exports.isUsable = isUsable;
module.exports.nodePackage = nodePackage;
module.exports.fetchedFile = fetchedFile;
module.exports.answers = answers;

/** `npm ci` in a clone brings such a package; elsewhere whoever wants may install one. */
function installedNode() {
  var spec = nodePackage();
  if (spec === null) return null;
  try {
    var manifest = require.resolve(spec.split('@')[0] + '/package.json');
    var found = require(manifest);
    if (isUsable(found.version)) return path.join(path.dirname(manifest), found.bin.node);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
  }
  return null;
}

function fetchedNode() {
  var file = fetchedFile();
  return file !== null && fs.existsSync(file) ? file : null;
}

/** Not a cache: services are set up to run what is here. */
function fetchedFile() {
  var spec = nodePackage();
  var home = dataHome();
  return spec === null || home === null ? null : path.join(home, 'openclaw-spine', spec, BINARY);
}

function dataHome() {
  if (isWindows) return process.env.LOCALAPPDATA || null;
  if (process.env.XDG_DATA_HOME) return process.env.XDG_DATA_HOME;
  var home = process.env.HOME || os.homedir();
  if (!home) return null;
  return process.platform === 'darwin'
    ? path.join(home, 'Library/Application Support')
    : path.join(home, '.local/share');
}

function nodeOfPath() {
  var folders = (process.env.PATH || '').split(path.delimiter).filter(Boolean);
  return firstUsable(
    folders.map(function (folder) {
      return path.join(folder, BINARY);
    }),
  );
}

/** Where programs that keep several Nodes put them: nvm, fnm, Volta, asdf, mise. */
function nodeOfManagers() {
  var home = process.env.HOME || os.homedir();
  if (isWindows || !home) return null;
  var kept = [
    [process.env.NVM_DIR || path.join(home, '.nvm'), 'versions/node', 'bin'],
    [process.env.FNM_DIR || path.join(home, '.local/share/fnm'), 'node-versions', 'installation/bin'],
    [process.env.VOLTA_HOME || path.join(home, '.volta'), 'tools/image/node', 'bin'],
    [process.env.ASDF_DATA_DIR || path.join(home, '.asdf'), 'installs/nodejs', 'bin'],
    [process.env.MISE_DATA_DIR || path.join(home, '.local/share/mise'), 'installs/node', 'bin'],
  ];
  var files = [];
  kept.forEach(function (places) {
    var folder = path.join(places[0], places[1]);
    versionsIn(folder).forEach(function (version) {
      files.push(path.join(folder, version, places[2], BINARY));
    });
  });
  return firstUsable(files);
}

/** Their folders are named by versions, so that none has to be started to be passed over. */
function versionsIn(folder) {
  try {
    return fs.readdirSync(folder).filter(function (name) {
      return /^v?\d+\.\d+\.\d+$/.test(name) && isUsable(name);
    });
  } catch {
    return [];
  }
}

function firstUsable(files) {
  var asked = {};
  asked[realFile(process.execPath)] = true;
  for (var index = 0; index < files.length; index++) {
    var file = realFile(files[index]);
    if (file === null || asked[file]) continue;
    asked[file] = true;
    if (answers(file)) return file;
  }
  return null;
}

function realFile(file) {
  try {
    return fs.realpathSync(file);
  } catch {
    return null;
  }
}

/** Whether it starts here, and is new enough. */
function answers(file) {
  var asked = childProcess.spawnSync(file, ['--version'], { encoding: 'utf8', timeout: ANSWER_LIMIT_MS });
  return asked.status === 0 && isUsable(asked.stdout.trim());
}
