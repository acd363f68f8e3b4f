/** Opens the runner of a name: for a worker's own sessions, and for those that a server runs for others. */

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, ConfigError } from '../config.ts';
import type { Platform } from '../client/platform.ts';
import type { Clock } from '../domain/ports.ts';
import { openGateway } from '../gateway/gateway.ts';
import { environmentBut } from '../runtime/environment.ts';
import { claudeRunner } from '../worker/sessions/claude-runner.ts';
import { CommandRunner } from '../worker/sessions/command-runner.ts';
import { demoRunner } from '../worker/sessions/demo-runner.ts';
import { GatewaySessionRunner } from '../worker/sessions/gateway-session.ts';
import { HttpRunner } from '../worker/sessions/http-runner.ts';
import type { SessionRunner } from '../worker/sessions/session.ts';
import { Surroundings } from '../worker/sessions/surroundings.ts';
import { OWN_SETTINGS } from './own-settings.ts';

export type RunnerName = 'command' | 'claude' | 'gateway' | 'http' | 'demo';

export interface RunnerOrder {
  readonly runner: RunnerName;
  readonly command: readonly string[] | null;
  readonly roots: readonly string[];
  readonly env: readonly string[];
  /** Of the server that runs the sessions, for `http`. */
  readonly sessions: { readonly url: string; readonly token: string | undefined } | null;
}

export interface RunnerHost {
  readonly platform: Platform;
  readonly clock: Clock;
  readonly config: Pick<
    Config,
    'gatewayUrl' | 'gatewayToken' | 'gatewayHookToken' | 'openclawCli' | 'sessionPollMs'
  >;
}

const NEEDS_COMMAND = `The runner command needs a program: --command '["./agent.sh"]' or SPINE_SESSION_COMMAND`;
const NEEDS_URL = 'The runner http needs the server of its sessions: --sessions-url <url>';

/** Services that name no folder start here: sessions could then work anywhere. */
const EVERYTHING = '/';
const NEEDS_ROOT = `Sessions would work in ${EVERYTHING}, and so anywhere: say --root <folder> or SPINE_SESSION_ROOTS, or start this in the folder that is meant`;

/** Else every session would be refused, one after another. */
function checkRoots(roots: readonly string[]): void {
  if (roots.length === 0 && process.cwd() === EVERYTHING) throw new ConfigError([NEEDS_ROOT]);
  const problems = roots
    .filter((root) => statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true)
    .map((root) => `--root or SPINE_SESSION_ROOTS names ${root}, which is no folder on this machine`);
  if (problems.length > 0) throw new ConfigError(problems);
}

/** A session works in the folder of its task, where another program may have the same name. */
function fromHere([program = '', ...rest]: readonly string[]): readonly string[] {
  return [program.includes('/') ? resolve(program) : program, ...rest];
}

export interface OpenRunner {
  readonly runner: SessionRunner;
  readonly close: () => Promise<void>;
}

export function openRunner(order: RunnerOrder, { platform, clock, config }: RunnerHost): OpenRunner {
  const { sessions } = order;
  const command = order.command && fromHere(order.command);
  const roots = order.roots.length > 0 ? order.roots : [process.cwd()];
  const surroundings = new Surroundings({ roots, env: order.env, from: environmentBut([]) });
  const plain = (runner: SessionRunner): OpenRunner => ({ runner, close: async () => undefined });
  if (order.runner === 'command' || order.runner === 'claude') checkRoots(order.roots);
  switch (order.runner) {
    case 'demo':
      return plain(demoRunner);
    case 'claude':
      return plain(claudeRunner({ platform, surroundings, command }));
    case 'command':
      if (command === null) throw new ConfigError([NEEDS_COMMAND]);
      return plain(new CommandRunner({ platform, surroundings, command }));
    case 'http': {
      if (sessions === null) throw new ConfigError([NEEDS_URL]);
      const runner = new HttpRunner({ platform, ...sessions, pollMs: config.sessionPollMs });
      return { runner, close: () => runner.close() };
    }
    case 'gateway': {
      const { gatewayUrl: url, gatewayToken: token, gatewayHookToken: hookToken, openclawCli: cli } = config;
      const cliEnv = environmentBut(OWN_SETTINGS);
      const gateway = openGateway({ name: 'main', url, token, hookToken, cli, cliEnv, clock });
      return { runner: new GatewaySessionRunner(gateway, () => clock.now()), close: () => gateway.close() };
    }
  }
}
