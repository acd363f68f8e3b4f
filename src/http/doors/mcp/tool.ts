/** A tool, as a model sees it and as it is called. */

import type { Actor } from '../../../domain/command.ts';
import { SpineError } from '../../../domain/error.ts';
import { suggest } from '../../../domain/suggest.ts';
import { InnerRoute } from '../../inner-route.ts';
import { jsonSchema } from '../../openapi.ts';
import type { Call, Route } from '../../routes.ts';
import { shortened } from './shorten.ts';
import type { Effect, ToolRow } from './tools.ts';

export type Arguments = Readonly<Record<string, unknown>>;

export interface Tool {
  readonly name: string;
  /** Whether this caller may use it at all. */
  readonly isOpenTo: (actor: Actor) => boolean;
  /** As `tools/list` shows it. */
  readonly shown: object;
  /** Answers JSON. */
  readonly run: (call: Call, given: Arguments) => Promise<string>;
}

export interface InputSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly additionalProperties: false;
}

/** A tool that calls a route. */
export function routeTool(row: ToolRow, route: Route): Tool {
  const inner = new InnerRoute(route);
  const places = placesOf(route);
  const input = inputOf(row, route);
  return {
    name: row.name,
    isOpenTo: (actor) => inner.isOpenTo(actor),
    shown: shownTool(row, [route.about, row.more].filter(Boolean).join(' '), input),
    run: async (call, given) => {
      // A route with more names for its fields than it shows tells itself which of them it knows.
      if (route.bodyShown === undefined) refuseUnknown(row, Object.keys(input.properties), given);
      refuseTooMuch(row, given);
      const { params, query, body } = sorted({ ...row.usual, ...given }, places);
      const answer = await inner.call({ ...call, answerBytes: READ_BYTES }, { params, query, body });
      return call.parts.longWork.run(call.actor, () => shortened(answer, HOW_TO_GO_ON));
    },
  };
}

/** More than a model is shown of a list: the rest would be read, and printed, to be left out. */
const READ_BYTES = 1_048_576;
const HOW_TO_GO_ON =
  'This was too long to be shown whole: long texts end with … [n more characters]. Ask for fewer at a time, or read all of one field of a job with read_field.';

/** A tool by its name, title and effect, with what else is known of it. */
export function shownTool(
  { name, title, effect }: Pick<ToolRow, 'name' | 'title' | 'effect'>,
  description: string,
  inputSchema: InputSchema,
): object {
  return { name, title, description, inputSchema, annotations: { title, ...HINTS[effect] } };
}

/** Whatever a tool does, it does it within Spine. */
const HINTS: Readonly<Record<Effect, object>> = {
  looks: { readOnlyHint: true, openWorldHint: false },
  adds: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  sets: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  ends: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
};

/** Where each argument goes: into the path, into the query, or into the body. */
interface Places {
  readonly params: readonly string[];
  readonly query: readonly string[];
}

function placesOf(route: Route): Places {
  return { params: namesIn(route.path), query: Object.keys(propertiesOf(route.query)) };
}

function namesIn(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
}

interface Fields {
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

function fieldsOf(schema: unknown): Fields {
  // Queries and bodies are always written as objects.
  return (schema ?? { properties: {} }) as Fields;
}

function propertiesOf(schema: unknown): Fields['properties'] {
  return fieldsOf(schema).properties;
}

/** The fields of path, query and body side by side; no route has one name in two of them. */
function inputOf({ atMost = {} }: ToolRow, route: Route): InputSchema {
  const inPath = namesIn(route.path);
  const body = route.method === 'GET' ? undefined : (route.bodyShown ?? route.body);
  const properties = {
    ...Object.fromEntries(inPath.map((name) => [name, jsonSchema(pathField(route, name))] as const)),
    ...mapped(propertiesOf(route.query)),
    ...mapped(propertiesOf(body)),
  };
  for (const [name, maximum] of Object.entries(atMost)) properties[name] = { ...properties[name], maximum };
  const required = [...inPath, ...(fieldsOf(route.query).required ?? []), ...(fieldsOf(body).required ?? [])];
  return { type: 'object', properties, required, additionalProperties: false };
}

function pathField({ params }: Route, name: string): object {
  return params?.properties[name] ?? { type: 'string' };
}

function mapped(properties: Fields['properties']): Record<string, object> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [name, jsonSchema(one)] as const),
  );
}

/** A model has made up the name. */
const NAME_CHARS = 64;

/** Left out, it would be a filter that lets everything through, or a wait of another length. */
function refuseUnknown({ name }: ToolRow, known: readonly string[], given: Arguments): void {
  const unknown = Object.keys(given).find((one) => !known.includes(one));
  if (unknown === undefined) return;
  const field = unknown.slice(0, NAME_CHARS).toWellFormed();
  const meant = suggest(field, known);
  const message = `${field} is not an argument of ${name}${meant === undefined ? '' : `; did you mean ${meant}?`}`;
  throw new SpineError('bad_request', { field }, { message: meant === undefined ? `${message}.` : message });
}

function refuseTooMuch({ atMost = {} }: ToolRow, given: Arguments): void {
  for (const [field, most] of Object.entries(atMost)) {
    const value = given[field];
    if (typeof value === 'number' && value > most)
      throw new SpineError('bad_request', { field }, { message: `${field} must be at most ${most} here.` });
  }
}

function sorted(given: Arguments, places: Places) {
  const params: Record<string, string> = {};
  const query: Record<string, unknown> = {};
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (places.params.includes(name)) params[name] = pathText(name, value);
    else if (places.query.includes(name)) query[name] = value;
    else body[name] = value;
  }
  const missing = places.params.find((name) => params[name] === undefined);
  if (missing !== undefined)
    throw new SpineError('bad_request', { field: missing }, { message: `${missing} is required.` });
  return { params, query, body };
}

/** Short numbers of jobs come as numbers, too. */
function pathText(field: string, value: unknown): string {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'string' && value !== '') return value;
  throw new SpineError('bad_request', { field }, { message: `${field} must be text.` });
}
