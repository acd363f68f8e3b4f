import type { Random } from '../random.ts';
import { multipartRequests } from './multipart.ts';
import { BODY_ROUTES, type BodyRoute, QUERY_ROUTES, type Role, SEGMENT_ROUTES } from './routes.ts';
import { socketRequests } from './sockets.ts';
import { EVIL_BODIES, EVIL_HEADER_VALUES, EVIL_JSON, EVIL_SEGMENTS } from './values.ts';

/** One thing to send. Placeholders in path and body are filled in just before. */
export interface FuzzRequest {
  readonly about: string;
  readonly method: string;
  readonly path: string;
  readonly role: Role | 'nobody';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Bytes for a bare socket, instead of all of the above. */
  readonly bytes?: Buffer;
  /** Nothing but a refusal is right. */
  readonly mustRefuse?: boolean;
  /** The server may hang up instead of answering, because it stops reading. */
  readonly mayHangUp?: boolean;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** How the requests are shared out, in percent; the fields of every route are the largest part. */
const SHARES = { fields: 55, bodies: 10, queries: 10, segments: 7, headers: 8, multipart: 5, sockets: 5 };

/** `count` requests: each family in an order of its own, begun again with other choices when it is through. */
export function fuzzRequests(count: number, random: Random): FuzzRequest[] {
  const families: Record<keyof typeof SHARES, () => FuzzRequest[]> = {
    fields: fieldRequests,
    bodies: () => bodyRequests(random),
    queries: queryRequests,
    segments: segmentRequests,
    headers: headerRequests,
    multipart: () => multipartRequests(random),
    sockets: () => socketRequests(random),
  };
  const planned = Object.entries(SHARES).flatMap(([family, percent]) =>
    take(families[family as keyof typeof SHARES], Math.ceil((count * percent) / 100), random),
  );
  return random.shuffle(planned).slice(0, count);
}

function take(make: () => FuzzRequest[], count: number, random: Random): FuzzRequest[] {
  const taken: FuzzRequest[] = [];
  while (taken.length < count) taken.push(...random.shuffle(make()).slice(0, count - taken.length));
  return taken;
}

function fieldRequests(): FuzzRequest[] {
  return BODY_ROUTES.flatMap((route) =>
    route.fields.flatMap((field) =>
      EVIL_JSON.map((json) => ({
        about: `${route.path} ${field}=${json.slice(0, 40)}`,
        method: route.method,
        path: route.path,
        role: route.role,
        headers: JSON_TYPE,
        body: bodyWith(route, field, json),
      })),
    ),
  );
}

function bodyWith(route: BodyRoute, field: string, json: string): string {
  const parts = [route.base, `${JSON.stringify(field)}:${json}`].filter((part) => part !== undefined);
  const fields = `{${parts.join(',')}}`;
  return route.wrap === undefined ? fields : route.wrap(fields);
}

const WRONG_TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'text/html',
  'application/xml',
  'x',
  'a/b/c;;=',
];
const ONE_MIB = 1_048_576;

function bodyRequests(random: Random): FuzzRequest[] {
  const { method, path, role } = random.pick(BODY_ROUTES);
  const base = { method, path, role };
  const good = '{"spec":{}}';
  const huge = `{"spec":"${'x'.repeat(ONE_MIB + 1)}"}`;
  return [
    ...EVIL_BODIES.map((body) => ({
      ...base,
      about: `${path} body ${String(body).slice(0, 40)}`,
      headers: JSON_TYPE,
      body,
    })),
    ...WRONG_TYPES.map((type) => ({
      ...base,
      about: `${path} as ${type}`,
      headers: { 'content-type': type },
      body: good,
      mustRefuse: true,
    })),
    ...['gzip', 'deflate', 'br', 'gzip, gzip', 'x'].map((encoding) => ({
      ...base,
      about: `${path} encoded as ${encoding}`,
      headers: { ...JSON_TYPE, 'content-encoding': encoding },
      body: good,
      mustRefuse: true,
    })),
    {
      ...base,
      about: `${path} body over the limit`,
      headers: JSON_TYPE,
      body: huge,
      mustRefuse: true,
      mayHangUp: true,
    },
  ];
}

function queryRequests(): FuzzRequest[] {
  return QUERY_ROUTES.flatMap((route) =>
    route.keys.flatMap((key) =>
      EVIL_SEGMENTS.map((value) => ({
        about: `${route.path} ?${key}=${value.slice(0, 40)}`,
        method: 'GET',
        path: `${route.path}?${key}=${value}`,
        role: 'head' as const,
        headers: {},
      })),
    ),
  );
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'];

function segmentRequests(): FuzzRequest[] {
  return SEGMENT_ROUTES.flatMap((path) =>
    EVIL_SEGMENTS.flatMap((evil) =>
      METHODS.map((method) => ({
        about: `${method} ${path} with ${evil.slice(0, 40)}`,
        method,
        path: path.replace('{evil}', evil),
        role: 'left' as const,
        headers: {},
      })),
    ),
  );
}

const ATTACKED_HEADERS = [
  'idempotency-key',
  'x-lease-token',
  'accept',
  'last-event-id',
  'x-request-id',
  'content-type',
];
const BAD_AUTHORIZATIONS = [
  'Bearer',
  'Bearer ',
  'Bearer null',
  'Basic aGVhZDpoZWFk',
  'bearer,',
  'Bearer a b',
  '{}',
];
const BAD_HOSTS = [
  'evil.test',
  '127.0.0.1.evil.test',
  'localhost.evil.test:80',
  '[::1',
  'a b',
  '169.254.169.254',
];
const BAD_ORIGINS = ['http://evil.test', 'null', 'https://127.0.0.1.evil.test', 'file://'];

function headerRequests(): FuzzRequest[] {
  const create = { method: 'POST', path: '/jobs', body: '{"spec":{}}' };
  const held = { method: 'POST', path: '/jobs/{id}/heartbeat', body: '{}' };
  return [
    ...ATTACKED_HEADERS.flatMap((name) =>
      EVIL_HEADER_VALUES.flatMap((value) => [
        {
          ...create,
          role: 'head' as const,
          about: `${name}: ${value.slice(0, 40)}`,
          headers: { ...JSON_TYPE, [name]: value },
        },
        {
          ...held,
          role: 'left' as const,
          about: `${name}: ${value.slice(0, 40)}`,
          headers: { ...JSON_TYPE, [name]: value },
        },
      ]),
    ),
    ...[...BAD_AUTHORIZATIONS, ...EVIL_HEADER_VALUES].map((authorization) =>
      refusal(create, `authorization: ${authorization.slice(0, 40)}`, { authorization }),
    ),
    ...BAD_HOSTS.map((host) => refusal(create, `host: ${host}`, { host }, 'head')),
    ...BAD_ORIGINS.map((origin) => refusal(create, `origin: ${origin}`, { origin }, 'head')),
  ];
}

function refusal(
  base: Pick<FuzzRequest, 'method' | 'path' | 'body'>,
  about: string,
  headers: Record<string, string>,
  role: FuzzRequest['role'] = 'nobody',
): FuzzRequest {
  return { ...base, about, role, headers: { ...JSON_TYPE, ...headers }, mustRefuse: true };
}
