/** What every method of the protocol does. */

import { isJsonObject } from '../../../domain/json-object.ts';
import { principalOf } from '../../../domain/actor.ts';
import { SpineError } from '../../../domain/error.ts';
import { SPINE_STATUS_OF } from '../../../domain/statuses.ts';
import { asSpineError, nativeErrors, toldOf } from '../../errors.ts';
import type { Call } from '../../routes.ts';
import { RPC, RpcError, type RpcRequest } from './messages.ts';
import type { Resources } from './resources.ts';
import type { Tool } from './tool.ts';

/** The newest first. */
export const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

const INSTRUCTIONS = `Spine keeps jobs until somebody has done them.
To do work: claim_jobs (waitMs waits for one), note id and leaseToken, do what spec says (and sop, if there is one). Every minute or two send heartbeat, and stop when it says cancelRequested or lease_lost. End with exactly one of complete_job, fail_job, release_job or ask.
To give work: create_job, then wait_for_job until ended is true; state says how: done, failed, dead, cancelled or skipped.
What is refused has error (a code), message, hint and retryable: send the same call again only when retryable is true.
Times are ISO 8601 with a zone, or epoch milliseconds; durations are milliseconds where the name ends in Ms.`;

export class McpServer {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #resources: Resources;

  constructor(tools: readonly Tool[], resources: Resources) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#resources = resources;
  }

  /** The result of a request. What it is not to do at all is an RpcError or a SpineError. */
  async answer(call: Call, { method, params }: RpcRequest): Promise<object> {
    switch (method) {
      case 'initialize':
        return initialized(call, params);
      case 'ping':
        return {};
      case 'tools/list':
        return this.#listed(call);
      case 'tools/call':
        return await this.#called(call, params);
      case 'resources/list':
        return await this.#resources.list(call);
      case 'resources/templates/list':
        return this.#resources.templates();
      case 'resources/read':
        return await this.#resources.read(call, params['uri']);
      default:
        throw new RpcError(RPC.methodNotFound, `There is no method ${JSON.stringify(method)}.`);
    }
  }

  #listed({ actor }: Call): object {
    const open = [...this.#tools.values()].filter((tool) => tool.isOpenTo(actor));
    return { tools: open.map(({ shown }) => shown) };
  }

  async #called(call: Call, { name, arguments: given = {} }: RpcRequest['params']): Promise<object> {
    const tool = typeof name === 'string' ? this.#tools.get(name) : undefined;
    // Who may not use a tool does not see it either.
    if (tool === undefined || !tool.isOpenTo(call.actor))
      throw new RpcError(
        RPC.invalidParams,
        `There is no tool ${JSON.stringify(name) ?? 'without a name'} for you. tools/list shows yours.`,
      );
    try {
      if (!isJsonObject(given)) throw notAnObject();
      return { content: [{ type: 'text', text: await tool.run(call, given) }] };
    } catch (error) {
      const refusal = asSpineError(error);
      if (refusal.code === 'internal') throw refusal;
      return { content: [{ type: 'text', text: refusalText(refusal, call) }], isError: true };
    }
  }
}

/** The same words as at the API's own door, for a model to read. */
function refusalText(refusal: SpineError, { request }: Call): string {
  return JSON.stringify(nativeErrors.body(toldOf(refusal, request.id), SPINE_STATUS_OF));
}

function notAnObject(): SpineError {
  return new SpineError('bad_request', { field: 'arguments' }, { message: 'arguments must be an object.' });
}

/** The version that was asked for, if we speak it; else our newest, and the client decides. */
function initialized({ parts, actor }: Call, { protocolVersion }: RpcRequest['params']): object {
  const known = VERSIONS.find((version) => version === protocolVersion);
  return {
    protocolVersion: known ?? VERSIONS[0],
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: 'spine', title: 'Spine', version: parts.version },
    instructions: `${INSTRUCTIONS}\nYou are ${principalOf(actor)}.`,
  };
}
