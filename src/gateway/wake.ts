/** A text for an agent's main session. It is queued there and has no answer. */

import { execFile } from 'node:child_process';
import { requestRefused } from './classify.ts';
import { at, type Access } from './access.ts';
import { GatewayError } from './errors.ts';
import { callWithin } from './http.ts';
import { checkAgent } from './session-names.ts';

/** Linux passes no longer argument to a program; /hooks/wake takes twice as much. */
const TEXT_MAX_BYTES = 128 * 1024 - 1;
const OUTPUT_MAX_BYTES = 1024 * 1024;

export async function wake(access: Access, text: string, agentId: string): Promise<void> {
  checkAgent(agentId);
  // A program's argument ends at the first NUL.
  const words = text.replaceAll('\0', '');
  if (words.trim() === '') throw new GatewayError('refused', 'there is no text to wake the agent with');
  if (Buffer.byteLength(words) > TEXT_MAX_BYTES) {
    throw new GatewayError('refused', `a text for the main session has at most ${TEXT_MAX_BYTES} bytes`);
  }
  await (access.hookToken === null
    ? byCommand(access, words, agentId)
    : byHook(access, access.hookToken, words, agentId));
}

async function byHook(access: Access, hookToken: string, text: string, agentId: string): Promise<void> {
  const answer = await callWithin(access.limits.requestMs, access.clock, {
    url: at(access, '/hooks/wake'),
    method: 'POST',
    headers: { authorization: `Bearer ${hookToken}` },
    body: JSON.stringify({ text, mode: 'now', agentId }),
  });
  if (answer.status !== 200) throw requestRefused(answer);
}

/** The command finds the gateway by its own settings. It costs seconds of CPU, which the hook does not. */
function byCommand(access: Access, text: string, agentId: string): Promise<void> {
  const session = agentId === 'main' ? [] : ['--session-key', `agent:${agentId}:main`];
  const args = ['system', 'event', '--text', text, '--mode', 'now', '--json', ...session];
  const options = {
    env: access.cliEnv,
    timeout: access.limits.commandMs,
    maxBuffer: OUTPUT_MAX_BYTES,
    killSignal: 'SIGKILL',
  } as const;
  return new Promise((resolve, reject) => {
    execFile(access.cli, args, options, (error, _, stderr) => {
      if (error === null) resolve();
      else reject(commandFailed(access, error, stderr));
    });
  });
}

function commandFailed(
  access: Access,
  error: Error & { code?: unknown; killed?: unknown },
  stderr: string,
): GatewayError {
  if (error.code === 'ENOENT') {
    return new GatewayError(
      'refused',
      `the command ${access.cli} is not installed, and there is no hook token`,
    );
  }
  if (error.killed === true) {
    return new GatewayError(
      'timeout',
      `${access.cli} system event did not end within ${access.limits.commandMs} ms`,
    );
  }
  const why = stderr.trim().slice(-500) || `it ended with ${String(error.code)}`;
  return new GatewayError('failed', `${access.cli} system event failed: ${why}`);
}
