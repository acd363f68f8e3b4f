/** The API described in OpenAPI 3.1, made from the very rows that serve it. */

import type { TSchema } from 'typebox';
import { type ErrorCode, ERRORS } from '../domain/error.ts';
import { codesByStatus, NAMED_ANSWERS, Refusal } from './answers.ts';
import type { Described } from './routes.ts';
import { NAMED_SCHEDULER_ANSWERS } from './scheduler-answers.ts';
import { NewSchedule, ScheduleChange } from './scheduler-schemas.ts';
import { NewJob } from './schemas.ts';

type Json = Record<string, unknown>;

/** What any request can meet, whatever it asks for. */
const EVERYWHERE: readonly ErrorCode[] = [
  'bad_request',
  'bad_host',
  'overloaded',
  'bad_origin',
  'unsupported_media_type',
  'internal',
  'store_unavailable',
  'shutting_down',
];
const WITH_BODY: readonly ErrorCode[] = ['bad_json', 'too_large', 'too_slow'];
const WITH_TOKEN: readonly ErrorCode[] = ['unauthorized', 'rate_limited'];
const WRITING: readonly ErrorCode[] = ['disk_full', 'outcome_unknown'];

const NAMED = new Map<object, string>(
  Object.entries({
    ...NAMED_ANSWERS,
    NewJob,
    ...NAMED_SCHEDULER_ANSWERS,
    NewSchedule,
    ScheduleChange,
  }).map(([name, schema]) => [schema, name]),
);

export function describeApi(routes: readonly Described[], version: string): Json {
  const paths: Record<string, Json> = {};
  const responses: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, responses) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Spine',
      version,
      description: 'A durable job queue for AI agents.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries([...NAMED].map(([schema, name]) => [name, plain(schema, true)])),
      responses: Object.fromEntries(
        Object.entries(responses).toSorted(([one], [other]) => (one < other ? -1 : 1)),
      ),
    },
  };
}

function operation(route: Described, responses: Record<string, Json>): Json {
  const { name, about, who, status = 200, answer, media = 'application/json', cached } = route;
  const body = bodyOf(route);
  return {
    operationId: name,
    summary: about,
    // An empty list says that no token is needed.
    security: who === 'anyone' ? [] : [{ token: [] }],
    ...(who !== 'anyone' && { 'x-roles': who }),
    ...parametersOf(route),
    ...(body && { requestBody: body }),
    responses: {
      [status]: {
        description: 'Done.',
        content: { [media.split(';')[0] ?? media]: { schema: plain(answer) } },
      },
      ...(cached && { 304: { description: 'You have it already.' } }),
      ...refusalsOf(route, responses),
    },
  };
}

function bodyOf({ method, body, upload }: Described): Json | null {
  if (upload) {
    const schema = {
      type: 'object',
      required: ['file'],
      properties: { file: { type: 'string', format: 'binary' } },
    };
    return { required: true, content: { 'multipart/form-data': { schema } } };
  }
  if (method === 'GET' || method === 'DELETE' || body === undefined) return null;
  const required = ((body as { required?: string[] }).required ?? []).length > 0;
  return { required, content: { 'application/json': { schema: plain(body) } } };
}

function parametersOf({ path, params, query, headers }: Described): { parameters?: Json[] } {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const parameters: Json[] = [
    ...names.map((name) => ({
      name,
      in: 'path',
      required: true,
      schema: plain(params?.properties[name] ?? { type: 'string' }),
    })),
    ...fieldsOf(query, 'query'),
    ...fieldsOf(headers, 'header'),
  ];
  return parameters.length === 0 ? {} : { parameters };
}

function fieldsOf(schema: TSchema | undefined, place: string): Json[] {
  if (schema === undefined) return [];
  // Queries and headers are always written as objects.
  const { properties, required = [] } = schema as { properties: Json; required?: string[] };
  return Object.entries(properties).map(([name, field]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema: plain(field),
  }));
}

function refusalsOf(route: Described, responses: Record<string, Json>): Json {
  const writes = route.method !== 'GET';
  const codes: ErrorCode[] = [
    ...EVERYWHERE,
    ...(route.who === 'anyone' ? [] : WITH_TOKEN),
    ...(writes && route.method !== 'DELETE' ? WITH_BODY : []),
    ...(writes ? WRITING : []),
    ...(route.errors ?? []),
  ];
  return Object.fromEntries(
    [...codesByStatus(codes)].map(([status, ofStatus]) => {
      const name = ofStatus.join('-or-');
      responses[name] ??= refusal(status, ofStatus);
      return [String(status), { $ref: `#/components/responses/${name}` }];
    }),
  );
}

function refusal(status: number, codes: readonly ErrorCode[]): Json {
  const named = { type: 'object', properties: { error: { enum: codes } }, additionalProperties: true };
  const schema = { allOf: [plain(Refusal), named] };
  const waits = status === 429 || status === 503 || status === 507;
  return {
    description: codes.map((code) => `${code}: ${ERRORS[code].message}`).join('\n'),
    ...(waits && { headers: { 'Retry-After': { schema: { type: 'integer' } } } }),
    content: { 'application/json': { schema } },
  };
}

/** A copy that is nothing but JSON Schema: named shapes become references, and our own words a description. */
function plain(schema: unknown, named = false): unknown {
  if (Array.isArray(schema)) return schema.map((item) => plain(item));
  if (typeof schema !== 'object' || schema === null) return schema;
  const name = named ? undefined : NAMED.get(schema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) =>
      key === 'must' ? ['description', value] : [key, plain(value)],
    ),
  );
}
