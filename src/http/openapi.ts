/** The API described in OpenAPI 3.1, made from the very routes that serve it. */

import type { TSchema } from 'typebox';
import { type ErrorCode, ERRORS, SpineError } from '../domain/error.ts';
import { type Door, type Tag, tagOf } from './door.ts';
import { exampleOf } from './example.ts';
import { pathWords, wordsFor } from './field-words.ts';
import type { Described } from './routes.ts';

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
const WRITING: readonly ErrorCode[] = ['disk_full', 'outcome_unknown'];

/** What an operation is described with: its door, the names of shapes, and the refusals so far, by name. */
interface Context {
  readonly door: Door;
  readonly names: Names;
  readonly responses: Record<string, Json>;
}

type Names = ReadonlyMap<object, string>;

/** All of it, or the calls of one tag with what they refer to. */
export function describeApi(doors: readonly Door[], version: string, tag?: string): Json {
  const tags = doors.flatMap((door) => door.tags);
  if (tag !== undefined && tags.every(({ name }) => name !== tag)) throw unknownTag(tags);
  const paths: Record<string, Json> = {};
  const responses: Record<string, Json> = {};
  const names = namesIn(doors);
  for (const door of doors) {
    for (const route of door.routes.filter(({ unlisted }) => unlisted !== true)) {
      if (tag !== undefined && tagOf(door, route.path) !== tag) continue;
      const path = route.path.replace(/:(\w+)/g, '{$1}');
      const described = operation(route, { door, names, responses });
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: described };
    }
  }
  const schemas = Object.fromEntries(
    [...names].map(([schema, name]) => [name, plain(schema, names, true)] as const),
  );
  return {
    openapi: '3.1.0',
    info: {
      title: 'Spine',
      version,
      description: 'A durable job queue for AI agents.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: tags.map(({ name, about }) => ({ name, description: about })),
    paths,
    components: {
      securitySchemes: Object.fromEntries(doors.map(({ auth }) => [auth.name, auth.scheme])),
      schemas: tag === undefined ? schemas : neededOf(schemas, [paths, responses]),
      responses: Object.fromEntries(
        Object.entries(responses).toSorted(([one], [other]) => (one < other ? -1 : 1)),
      ),
    },
  };
}

function unknownTag(tags: readonly Tag[]): SpineError {
  const message = `tag must be one of ${tags.map(({ name }) => name).join(', ')}.`;
  return new SpineError('bad_request', { field: 'tag' }, { message });
}

/** Those that the rest refers to, and what they refer to themselves. */
function neededOf(schemas: Json, from: unknown): Json {
  const needed = new Set<string>();
  const follow = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)/g)) {
      if (needed.has(name)) continue;
      needed.add(name);
      follow(schemas[name]);
    }
  };
  follow(from);
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => needed.has(name)));
}

function namesIn(doors: readonly Door[]): Names {
  return new Map(
    doors.flatMap(({ schemas }) => Object.entries(schemas).map(([name, schema]) => [schema, name])),
  );
}

const SILENCE = { 202: 'Taken; there is nothing to say.', 204: 'There is none.' } as const;

function operation(route: Described, context: Context): Json {
  const { name, about, who, status = 200, media = 'application/json', cached, silent } = route;
  const { door, names } = context;
  const body = bodyOf(route, names);
  return {
    operationId: name,
    tags: [tagOf(door, route.path)],
    summary: firstSentence(about),
    description: `${about}\n\nWho may call: ${who === 'anyone' ? 'anyone' : who.join(', ')}.`,
    // An empty list says that no token is needed.
    security: who === 'anyone' ? [] : [{ [door.auth.name]: [] }],
    ...(who !== 'anyone' && { 'x-roles': who }),
    ...parametersOf(route, names),
    ...(body && { requestBody: body }),
    responses: {
      [status]: {
        description: 'Done.',
        ...(status !== 204 && {
          content: { [media.split(';')[0] ?? media]: shownAnswer(route, names) },
        }),
      },
      ...(silent && { [silent]: { description: SILENCE[silent] } }),
      ...(cached && { 304: { description: 'You have it already.' } }),
      ...refusalsOf(route, context),
    },
  };
}

/** Calls without a body are shown by their answers. */
function shownAnswer({ answer, media = JSON_TYPE, ...route }: Described, names: Names): Json {
  const schema = plain(answer, names);
  return media === JSON_TYPE && !takesBody(route) ? { schema, example: exampleOf(answer) } : { schema };
}

const JSON_TYPE = 'application/json';

function takesBody({ method, body, upload }: Pick<Described, 'method' | 'body' | 'upload'>): boolean {
  return upload === true || (method !== 'GET' && method !== 'DELETE' && body !== undefined);
}

/** What most callers say, where little or nothing has to be said. */
const USUAL: readonly string[] = [
  'target',
  'spec',
  'title',
  'waitMs',
  'result',
  'progress',
  'requeue',
  'reason',
  'text',
  'label',
  'status',
];

function firstSentence(about: string): string {
  const [first = about] = about.split(/(?<=\.) |; |: /);
  return first.endsWith('.') ? first : `${first}.`;
}

function bodyOf({ method, body, bodyShown, upload }: Described, names: Names): Json | null {
  if (upload) {
    const schema = {
      type: 'object',
      required: ['file'],
      properties: { file: { type: 'string', format: 'binary', description: wordsFor('file') } },
    };
    return { required: true, content: { 'multipart/form-data': { schema } } };
  }
  if (method === 'GET' || method === 'DELETE' || body === undefined) return null;
  const shown = bodyShown ?? body;
  const required = ((shown as { required?: string[] }).required ?? []).length > 0;
  const example = exampleOf(shown, USUAL);
  return { required, content: { 'application/json': { schema: plain(shown, names), example } } };
}

function parametersOf({ path, params, query, headers }: Described, names: Names): { parameters?: Json[] } {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const parameters: Json[] = [
    ...inPath.map((name) => ({
      name,
      in: 'path',
      required: true,
      description: pathWords(path, name),
      schema: plain(params?.properties[name] ?? { type: 'string' }, names),
    })),
    ...fieldsOf(query, 'query', names),
    ...fieldsOf(headers, 'header', names),
  ];
  return parameters.length === 0 ? {} : { parameters };
}

function fieldsOf(schema: TSchema | undefined, place: string, names: Names): Json[] {
  if (schema === undefined) return [];
  // Queries and headers are always written as objects.
  const { properties, required = [] } = schema as { properties: Json; required?: string[] };
  return Object.entries(properties).map(([name, field]) => {
    const shown = plain(field, names) as { readonly description?: string };
    const description = shown.description ?? wordsFor(name);
    return {
      name,
      in: place,
      required: required.includes(name),
      ...(description && { description }),
      schema: shown,
    };
  });
}

function refusalsOf(route: Described, { door, names, responses }: Context): Json {
  const writes = route.method !== 'GET';
  const codes: ErrorCode[] = [
    ...EVERYWHERE,
    ...(route.who === 'anyone' ? [] : [...authCodes(route, door), 'rate_limited' as const]),
    ...(writes && route.method !== 'DELETE' ? WITH_BODY : []),
    ...(writes ? WRITING : []),
    ...(route.errors ?? []),
  ];
  return Object.fromEntries(
    [...codesByStatus(codes)].map(([status, ofStatus]) => {
      const name = door.errors.name + ofStatus.join('-or-');
      responses[name] ??= refusal(status, ofStatus, plain(door.errors.schema(ofStatus), names));
      return [String(status), { $ref: `#/components/responses/${name}` }];
    }),
  );
}

/** v0's own routes have one word for both. */
function authCodes({ v0 }: Described, { auth }: Door): readonly ErrorCode[] {
  return v0 ? auth.codes.filter((code) => code !== 'wrong_role') : auth.codes;
}

function codesByStatus(codes: readonly ErrorCode[]): Map<number, ErrorCode[]> {
  const unique = [...new Set(codes)].toSorted();
  return new Map(
    [...Map.groupBy(unique, (code) => ERRORS[code].status)].toSorted(([one], [other]) => one - other),
  );
}

function refusal(status: number, codes: readonly ErrorCode[], schema: unknown): Json {
  const waits = status === 429 || status === 503 || status === 507;
  return {
    description: codes.map((code) => `${code}: ${ERRORS[code].message}`).join('\n'),
    ...(waits && { headers: { 'Retry-After': { schema: { type: 'integer' } } } }),
    content: { 'application/json': { schema } },
  };
}

/** A copy that is nothing but JSON Schema: named shapes become references, and our own words a description. */
function plain(schema: unknown, names: Names, named = false): unknown {
  if (Array.isArray(schema)) return schema.map((item) => plain(item, names));
  if (typeof schema !== 'object' || schema === null) return schema;
  const name = named ? undefined : names.get(schema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  const { must, ...rest } = schema as { must?: string; description?: string };
  const described = must === undefined ? rest : { ...rest, description: sentences(rest.description, must) };
  return Object.fromEntries(
    Object.entries(described).map(([key, value]) => [
      key,
      key === 'properties' ? fieldsWithWords(value, names) : plain(value, names),
    ]),
  );
}

/** A field that is called `properties` itself has none: what is a list of fields holds nothing but schemas. */
function fieldsWithWords(fields: unknown, names: Names): Json {
  return Object.fromEntries(
    Object.entries(fields as Json).map(([name, schema]) => {
      const shown = plain(schema, names) as { readonly description?: string; readonly $ref?: string };
      const isSaid = shown.description !== undefined || shown.$ref !== undefined;
      const words = isSaid ? undefined : wordsFor(name);
      return [name, words === undefined ? shown : { ...shown, description: words }];
    }),
  );
}

/** A schema as JSON Schema writes it, with everything in its place. */
export function jsonSchema(schema: object): object {
  return plain(schema, NO_NAMES) as object;
}

const NO_NAMES: Names = new Map();

function sentences(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join('; ');
}
