import { deepStrictEqual, match, ok, strictEqual, throws } from 'node:assert';
import { suite, test } from 'node:test';
import { ERRORS } from '../../src/domain/error.ts';
import { DOORS } from '../../src/http/doors.ts';
import { checkAnswer, description, operations, responseOf } from './description.ts';
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

  test('is what answers are held against: a planted difference is found', () => {
    const answered = { status: 200, contentType: 'application/json; charset=utf-8' };
    const body = { ok: true, status: 'healthy', time: '2026-01-01T00:00:00.000Z', version: '1' };
    checkAnswer('GET', '/health', { ...answered, body });
    for (const wrong of [
      { ...answered, body: { ...body, ok: 'yes' } },
      { ...answered, body: { ...body, jobs: 5 } },
      { ...answered, body: { ok: true } },
      { ...answered, status: 202, body },
      { ...answered, contentType: 'text/plain', body },
    ]) {
      throws(() => checkAnswer('GET', '/health', wrong));
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

function resolve(ref: string): unknown {
  const steps = ref.split('/').slice(1);
  return steps.reduce<unknown>(
    (at, step) => (at as Record<string, unknown> | undefined)?.[step],
    description,
  );
}
