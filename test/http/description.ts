import { deepStrictEqual, ok } from 'node:assert';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { DOORS } from '../../src/http/doors.ts';
import { describeApi } from '../../src/http/openapi.ts';
import type { Answer, HttpClient } from '../support/http.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security: readonly object[];
  readonly 'x-roles'?: readonly string[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Json }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json }>> };
  readonly responses: Readonly<Record<string, Json>>;
}

interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}

export interface Description {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Json; readonly responses: Readonly<Record<string, Response>> };
}

/** The same that GET /openapi.json answers. */
export const description = JSON.parse(JSON.stringify(describeApi(DOORS, 'test'))) as Description;

export interface DescribedOperation extends Operation {
  readonly method: string;
  readonly path: string;
}

export const operations: readonly DescribedOperation[] = Object.entries(description.paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
);

/** What `#/components/responses/x` stands for, or the response itself. */
export function responseOf(operation: Operation, status: number): Response | undefined {
  const response = operation.responses[status] as (Response & { $ref?: string }) | undefined;
  const name = response?.$ref?.split('/').at(-1);
  return name === undefined ? response : description.components.responses[name];
}

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true, strictRequired: false });
ajv.addVocabulary(['components']);
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
ajv.addFormat('binary', true);

/** Each shape that has a name is compiled once, whichever answers hold it. */
const NAMED = 'api';
ajv.addSchema({ $id: NAMED, components: closed(description.components) });
const compiled = new Map<string, ValidateFunction>();

/** What is described is all there is: an answer may hold no field that its shape does not name. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key === '$ref' ? `${NAMED}${value}` : closed(value)]),
  );
  const isShape = copy['type'] === 'object' && 'properties' in copy && !('additionalProperties' in copy);
  return isShape ? { ...copy, additionalProperties: false } : copy;
}

export function validator(name: string, schema: Json): ValidateFunction {
  const known = compiled.get(name) ?? ajv.compile(closed(schema) as Json);
  compiled.set(name, known);
  return known;
}

interface Answered {
  readonly status: number;
  readonly contentType: string;
  readonly body: unknown;
}

/** Fails unless the answer is one that the description promises for this call. */
export function checkAnswer(method: string, url: string, answered: Answered): void {
  const path = url.split('?')[0] ?? '';
  const call = `${method} ${path} answered ${answered.status}`;
  const operation = operationFor(method, path);
  if (operation === undefined) {
    // A path whose id is empty belongs to no call; what the request itself may not be is said before that.
    ok(
      [400, 401, 403, 404, 405, 415, 421].includes(answered.status),
      `${call}, and no such call is described`,
    );
    return;
  }
  const response = responseOf(operation, answered.status);
  ok(response, `${call}, which ${operation.operationId} does not describe: ${JSON.stringify(answered.body)}`);
  if (response.content === undefined) return;
  const media = Object.keys(response.content);
  const type = answered.contentType.split(';')[0] ?? '';
  // Files come as what they were uploaded as.
  if (!media.includes('application/octet-stream') || answered.status !== 200)
    deepStrictEqual(media, [type], call);
  if (type !== 'application/json') return;
  const { schema } = response.content[type] ?? {};
  if (schema === undefined) return;
  const validate = validator(`${operation.operationId} ${answered.status}`, schema);
  ok(
    validate(answered.body),
    `${call} against its description: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(answered.body)}`,
  );
}

const patterns = operations
  .toSorted((one, other) => one.path.split('{').length - other.path.split('{').length)
  .map((operation) => ({
    operation,
    pattern: new RegExp(`^${operation.path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }));

function operationFor(method: string, path: string): DescribedOperation | undefined {
  return patterns.find(({ operation, pattern }) => operation.method === method && pattern.test(path))
    ?.operation;
}

/** A client whose every answer is held against the description. */
export function checked(client: HttpClient): HttpClient {
  const request = async <T>(...args: Parameters<HttpClient['request']>): Promise<Answer<T>> => {
    const [method, path] = args;
    const answer = await client.request<T>(...args);
    if (method !== 'HEAD') checkAnswer(method, path, shown(answer));
    return answer;
  };
  return {
    request,
    get: (path, options) => request('GET', path, options),
    post: (path, body, options) => request('POST', path, { ...options, body }),
    close: () => client.close(),
  };
}

function shown({ status, headers, body }: Answer<unknown>): Answered {
  return { status, contentType: headers['content-type'] ?? '', body };
}
