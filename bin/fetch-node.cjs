'use strict';
// Written in old syntax on purpose, as find-node.cjs is.

var childProcess = require('node:child_process');
var crypto = require('node:crypto');
var fs = require('node:fs');
var path = require('node:path');
var findNode = require('./find-node.cjs');
var sums = require('./node-sums.json');

var LIMIT_MS = 300000;

/**
 * Has npm fetch the Node that Spine was tested on, once, to a place of Spine's own. As a dependency it would become the
 * `node` of its user's project: npm links the programs of whatever is installed into node_modules/.bin.
 * Gives its file; throws with the reason when there is none.
 */
module.exports = function fetchNode(say) {
  var spec = findNode.nodePackage();
  if (spec === null) throw new Error('none is published for ' + process.platform + ' on ' + process.arch);
  var file = findNode.fetchedFile();
  if (file === null) throw new Error('this user has no home folder to keep one in');
  var home = path.dirname(path.dirname(file));
  fs.mkdirSync(home, { recursive: true });
  say('Fetching ' + spec + ' from npm, once, into ' + home + ' ...');
  var staging = fs.mkdtempSync(path.join(home, '.fetching-'));
  try {
    install(spec, staging);
    var name = spec.split('@')[0];
    var source = path.join(staging, 'node_modules', name);
    var binary = path.join(source, require(path.join(source, 'package.json')).bin.node);
    check(binary, spec);
    return keep(binary, file);
  } finally {
    fs.rmSync(staging, { recursive: true, force: true });
  }
};

function install(spec, folder) {
  fs.writeFileSync(path.join(folder, 'package.json'), '{"private":true}');
  var command = npmCommand();
  var flags = [
    '--no-save',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    '--global=false',
  ];
  var ran = childProcess.spawnSync(
    command[0],
    command.slice(1).concat('install', '--prefix', folder, flags, spec),
    {
      encoding: 'utf8',
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: LIMIT_MS,
      shell: command[0] === 'npm.cmd',
    },
  );
  if (ran.error) throw new Error('npm could not be started (' + ran.error.message + ')');
  if (ran.status !== 0) throw new Error('npm could not fetch ' + spec + ' (' + complaint(ran.stderr) + ')');
}

/** The npm that came with this Node, else the one on the PATH. */
function npmCommand() {
  var beside = path.dirname(process.execPath);
  var places = [
    process.env.npm_execpath,
    path.join(beside, '../lib/node_modules/npm/bin/npm-cli.js'),
    path.join(beside, 'node_modules/npm/bin/npm-cli.js'),
  ].filter(function (file) {
    return file && /npm-cli\.js$/.test(file) && fs.existsSync(file);
  });
  if (places.length > 0) return [process.execPath, places[0]];
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm'];
}

function complaint(text) {
  var lines = text.split('\n').filter(function (line) {
    return /^npm (ERR!|error) /.test(line) && !/ (A complete log|code) /.test(line);
  });
  return (lines[0] || 'it does not say why').replace(/^npm (ERR!|error) /, '');
}

function check(binary, spec) {
  var sum = crypto.createHash('sha256').update(fs.readFileSync(binary)).digest('hex');
  if (sum !== sums[spec]) throw new Error(spec + ' is not the one that was tested: its SHA-256 is ' + sum);
  if (!findNode.answers(binary)) throw new Error('that of ' + spec + ' does not start on this machine');
}

/** Two that fetch at once bring the same file, so it does not matter whose is kept. */
function keep(binary, file) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.renameSync(binary, file);
  return file;
}
