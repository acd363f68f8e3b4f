import { deepStrictEqual, doesNotThrow, match, ok, strictEqual, throws } from 'node:assert';
import { suite, test } from 'node:test';
import { Ajv } from 'ajv';
import { ERRORS } from '../../src/domain/error.ts';
import { DOORS } from '../../src/http/doors.ts';
import { checkAnswer, description, type Json, operations, responseOf, validator } from './description.ts';
import { openServer } from './server.ts';

suite('the description of the API', () => {
  test('is what GET /openapi.json answers, to anyone', async (t) => {
    const spine = await openServer(t);
    const { status, headers, body } = await spine.anyone.get<typeof description>('/openapi.json');
    strictEqual(status, 200);
    match(headers['content-type'] ?? '', /^application\/json/);
    deepStrictEqual(body.paths, description.paths);
    deepStrictEqual(body.components, description.components);
  });

  test('is made of schemas that compile and are JSON Schema: no server looks before the first call comes', () => {
    const ajv = new Ajv({ strict: true, allowUnionTypes: true }).addVocabulary(['must']);
    throws(() => ajv.compile({ type: 'text' }), /schema is invalid/);
    for (const { method, path, params, query, body } of DOORS.flatMap(({ routes }) => routes))
      for (const schema of [params, query, body])
        doesNotThrow(() => schema && ajv.compile(schema), `${method} ${path}`);
  });

  test('names every route once', () => {
    deepStrictEqual(
      operations.map(({ method, path }) => `${method} ${path}`).toSorted(),
      DOORS.flatMap(({ routes }) => routes)
        .filter(({ unlisted }) => unlisted !== true)
        .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
        .toSorted(),
    );
    strictEqual(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
  });

  test('has one meaning for each name, whichever door it comes from', () => {
    const meanings = DOORS.flatMap(
      ({ auth, errors, schemas }) =>
        [
          ['auth', auth.name, auth],
          ['errors', errors.name, errors],
          ...Object.entries(schemas).map(([name, schema]) => ['schema', name, schema] as const),
        ] as const,
    );
    const known = new Map<string, object>();
    for (const [kind, name, meaning] of meanings) {
      const named = `${kind} ${name}`;
      strictEqual(known.get(named) ?? meaning, meaning, named);
      known.set(named, meaning);
    }
  });

  test('is whole: version, references, parameters, responses and security', () => {
    match(description.openapi, /^3\.1\.\d+$/);
    for (const [place, ref] of references(description, '#')) {
      ok(resolve(ref) !== undefined, `${place} refers to ${ref}, which is not there`);
    }
    for (const operation of operations) {
      const { operationId, method, path, responses, parameters = [], security, summary } = operation;
      match(operationId, /^[a-z]\w+$/);
      ok(summary.endsWith('.'), operationId);
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      deepStrictEqual(
        parameters.filter((one) => one.in === 'path').map(({ name }) => name),
        inPath,
      );
      strictEqual(new Set(parameters.map((one) => `${one.in} ${one.name}`)).size, parameters.length);
      ok(parameters.every((one) => ['path', 'query', 'header'].includes(one.in) && one.schema));
      const statuses = Object.keys(responses);
      ok(statuses.some((status) => status.startsWith('2')) && statuses.includes('500'), operationId);
      ok(Object.keys(responses).every((status) => responseOf(operation, Number(status))?.description));
      ok(Array.isArray(security), operationId);
      strictEqual(security.length > 0, operation['x-roles'] !== undefined);
      if (security.length > 0) ok(statuses.includes('401'), operationId);
      if (operation.requestBody) ok(['POST', 'PUT', 'PATCH'].includes(method), operationId);
    }
  });

  test('gives every refusal the status of its code, and leaves out none', () => {
    const named = new Set<string>();
    for (const operation of operations) {
      for (const status of Object.keys(operation.responses).filter((code) => Number(code) >= 400)) {
        const schema = responseOf(operation, Number(status))?.content?.['application/json']?.schema;
        interface Codes {
          readonly enum: readonly (keyof typeof ERRORS)[];
        }
        const { allOf, properties } = schema as {
          allOf?: { properties?: { error: Codes } }[];
          properties?: { code: Codes };
        };
        for (const code of (allOf?.[1]?.properties?.error ?? properties?.code)?.enum ?? []) {
          strictEqual(ERRORS[code].status, Number(status));
          named.add(code);
        }
      }
    }
    // Only a path's other methods answer this one, and those are no operations.
    named.add('method_not_allowed');
    deepStrictEqual([...named].toSorted(), Object.keys(ERRORS).toSorted());
  });

  test('says of every field and parameter what it means', () => {
    const silent: string[] = [];
    for (const [place, field] of fields(description, '#')) {
      const { description: words, $ref } = field as { description?: string; $ref?: string };
      if (words === undefined && $ref === undefined) silent.push(place);
    }
    for (const { operationId, parameters = [] } of operations)
      for (const one of parameters)
        if (!('description' in one)) silent.push(`${operationId} ${one.in} ${one.name}`);
    deepStrictEqual(silent, []);
  });

  test('has a tag, a summary, a description and a valid example for every call', () => {
    const { tags } = description as unknown as { tags: readonly { name: string }[] };
    for (const operation of operations) {
      const {
        operationId,
        tags: own,
        description: about,
        summary,
      } = operation as unknown as {
        operationId: string;
        tags: string[];
        description: string;
        summary: string;
      };
      ok(own.length === 1 && tags.some(({ name }) => name === own[0]), operationId);
      ok(summary.length < 130 && about.includes('Who may call: '), operationId);
      const body = operation.requestBody?.content['application/json'];
      const answer = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1];
      const json = (answer as { content?: Record<string, Media> } | undefined)?.content?.['application/json'];
      const shown = body ?? (operation.requestBody === undefined ? json : undefined);
      if (shown === undefined) continue;
      ok('example' in shown, operationId);
      const validate = validator(`the example of ${operationId}`, shown.schema);
      ok(validate(shown.example), `${operationId}: ${JSON.stringify([shown.example, validate.errors])}`);
    }
  });

  test('says no default where a call changes what it names and leaves the rest', () => {
    const { ScheduleChange } = description.components.schemas;
    const changing = operations
      .filter(({ method }) => method === 'PATCH')
      .map(({ requestBody }) => requestBody);
    ok(!/"default":/.test(JSON.stringify([changing, ScheduleChange])));
  });

  test('comes in sections, each whole in itself, and refuses a tag that it does not have', async (t) => {
    const spine = await openServer(t);
    const paths = new Set<string>();
    for (const { name } of (description as unknown as { tags: { name: string }[] }).tags) {
      const { status, body } = await spine.anyone.get<typeof description>(`/openapi.json?tag=${name}`);
      strictEqual(status, 200);
      for (const path of Object.keys(body.paths)) paths.add(path);
      for (const [place, ref] of references(body, '#'))
        ok(resolve(ref, body) !== undefined, `${name} ${place} ${ref}`);
    }
    deepStrictEqual([...paths].toSorted(), Object.keys(description.paths).toSorted());
    const refused = await spine.anyone.get('/openapi.json?tag=nothing');
    deepStrictEqual([refused.status, refused.body['field']], [400, 'tag']);
  });

  test('is what answers are held against: a planted difference is found', () => {
    const answered = { status: 200, contentType: 'application/json; charset=utf-8' };
    const body = { ok: true, status: 'healthy', time: '2026-01-01T00:00:00.000Z', version: '1' };
    checkAnswer('GET', '/health', { ...answered, body });
    for (const [wrong, why] of [
      [{ ...answered, body: { ...body, ok: 'yes' } }, /data\/ok must be boolean/],
      [{ ...answered, body: { ...body, jobs: 5 } }, /must NOT have (additional|unevaluated) properties/],
      [{ ...answered, body: { ok: true } }, /must have required property/],
      [{ ...answered, status: 202, body }, /202/],
      [{ ...answered, contentType: 'text/plain', body }, /text\/plain/],
    ] as const) {
      throws(() => checkAnswer('GET', '/health', wrong), why);
    }
    const refusal = { error: 'lease_lost', message: 'm', retryable: false, hint: 'h' };
    throws(
      () => checkAnswer('GET', '/jobs/x', { ...answered, status: 404, body: refusal }),
      /allowed values/,
    );
  });
});

function* references(value: unknown, place: string): Generator<readonly [string, string]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (key === '$ref') yield [place, String(inner)];
    else yield* references(inner, `${place}/${key}`);
  }
}

interface Media {
  readonly schema: Json;
  readonly example?: unknown;
}

/** Every field of every shape. */
function* fields(value: unknown, place: string, isShape = false): Generator<readonly [string, unknown]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (isShape) yield [`${place}/${key}`, inner];
    yield* fields(inner, `${place}/${key}`, !isShape && key === 'properties');
  }
}

function resolve(ref: string, from: object = description): unknown {
  const steps = ref.split('/').slice(1);
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], from);
}
