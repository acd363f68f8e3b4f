/** Jobs and types as resources: what a person attaches to a conversation. */

import { InnerRoute } from '../../inner-route.ts';
import type { Call, Route } from '../../routes.ts';
import { RPC, RpcError } from './messages.ts';
import { shortened } from './shorten.ts';

const JSON_TYPE = 'application/json';
/** How many of the newest jobs are listed; a client that knows the id of another may read it, too. */
const LISTED_JOBS = 50;
const LISTED_TYPES = 50;

const TEMPLATES = [
  {
    uriTemplate: 'spine://jobs/{id}',
    name: 'job',
    title: 'A job',
    description: 'A job with its result, by its id or short number.',
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: 'spine://types/{name}',
    name: 'type',
    title: 'A type of job',
    description: 'How a kind of work is done: its instructions and the schema of its params.',
    mimeType: JSON_TYPE,
  },
] as const;

export interface ResourceRoutes {
  readonly listJobs: Route;
  readonly getJob: Route;
  readonly listTypes: Route;
  readonly getType: Route;
}

interface Listed {
  readonly jobs: readonly {
    readonly id: string;
    readonly no: number;
    readonly title?: string;
    readonly status: string;
  }[];
  readonly types: readonly { readonly name: string; readonly label: string }[];
}

export class Resources {
  readonly #jobs: InnerRoute;
  readonly #job: InnerRoute;
  readonly #types: InnerRoute;
  readonly #type: InnerRoute;

  constructor({ listJobs, getJob, listTypes, getType }: ResourceRoutes) {
    this.#jobs = new InnerRoute(listJobs);
    this.#job = new InnerRoute(getJob);
    this.#types = new InnerRoute(listTypes);
    this.#type = new InnerRoute(getType);
  }

  templates(): object {
    return { resourceTemplates: TEMPLATES };
  }

  async list(call: Call): Promise<object> {
    return { resources: [...(await this.#listJobs(call)), ...(await this.#listTypes(call))] };
  }

  async read(call: Call, uri: unknown): Promise<object> {
    const [, kind, encoded = ''] = /^spine:\/\/(jobs|types)\/([^/?#]{1,300})$/.exec(String(uri)) ?? [];
    const name = decoded(encoded);
    if (typeof uri !== 'string' || kind === undefined || name === null)
      throw new RpcError(
        RPC.resourceNotFound,
        'There is no such resource. Read spine://jobs/{id} or spine://types/{name}.',
      );
    const text =
      kind === 'jobs'
        ? await this.#job.call(call, given({ id: name }))
        : await this.#type.call(call, given({ name }));
    const shown = await call.parts.longWork.run(call.actor, () =>
      shortened(text, 'Long texts are cut here.'),
    );
    return { contents: [{ uri, mimeType: JSON_TYPE, text: shown }] };
  }

  async #listJobs(call: Call): Promise<object[]> {
    if (!this.#jobs.isOpenTo(call.actor)) return [];
    const query = { order: 'newest', limit: LISTED_JOBS };
    const { jobs } = JSON.parse(
      await this.#jobs.call(call, { params: {}, query, body: undefined }),
    ) as Listed;
    return jobs.map(({ id, no, title, status }) => ({
      uri: `spine://jobs/${encodeURIComponent(id)}`,
      name: `job ${no}`,
      title: title ?? `Job ${no}`,
      description: `Job ${no}, ${status}.`,
      mimeType: JSON_TYPE,
    }));
  }

  async #listTypes(call: Call): Promise<object[]> {
    if (!this.#types.isOpenTo(call.actor)) return [];
    const query = { limit: LISTED_TYPES };
    const { types } = JSON.parse(
      await this.#types.call(call, { params: {}, query, body: undefined }),
    ) as Listed;
    return types.map(({ name, label }) => ({
      uri: `spine://types/${encodeURIComponent(name)}`,
      name: `type ${name}`,
      title: label,
      mimeType: JSON_TYPE,
    }));
  }
}

function given(params: Readonly<Record<string, string>>) {
  return { params, query: {}, body: undefined };
}

function decoded(text: string): string | null {
  try {
    const name = decodeURIComponent(text);
    return name.includes('\0') ? null : name;
  } catch {
    return null;
  }
}
