import { deepStrictEqual, strictEqual } from 'node:assert';
import { after, before } from 'node:test';
import type { Answer, HttpClient, JobBody } from '../support/http.ts';
import type { ServerOptions, TestServer } from '../support/server.ts';

/** Without options it answers the one server that the suites of a contract share; with options, if only {}, an own one. */
export type Start = (options?: ServerOptions) => Promise<TestServer>;

/** One server for all tests of the suite that calls this, or of all suites; read it inside a test. */
export function sharedServer(start: Start, options?: ServerOptions): () => TestServer {
  let server: TestServer | undefined;
  before(async () => {
    server = await start(options);
  });
  after(() => server?.stop());
  return () => {
    if (!server) throw new Error('the server is there only while tests run');
    return server;
  };
}

/** The answer's body, once its status is as expected. */
export function expectStatus<T>(answer: Answer<T>, status: number): T {
  strictEqual(answer.status, status, answer.text);
  return answer.body;
}

export async function createJob(client: HttpClient, body: object = {}): Promise<JobBody> {
  return expectStatus(await client.post<JobBody>('/jobs', body), 201);
}

export async function claimJob(client: HttpClient, id: string): Promise<JobBody> {
  return expectStatus(await client.post<JobBody>(`/jobs/${id}/claim`), 200);
}

/** A job that `client` has claimed. */
export async function runningJob(
  server: TestServer,
  client: HttpClient,
  body: object = {},
): Promise<JobBody> {
  const { id } = await createJob(server.head, body);
  return await claimJob(client, id);
}

export async function readJob(client: HttpClient, id: string): Promise<JobBody> {
  return expectStatus(await client.get<JobBody>(`/jobs/${id}`), 200);
}

/** v0 answers with the code and these facts; ours adds words around them. */
export function expectRefusal(
  answer: Answer<Record<string, unknown>>,
  status: number,
  error: string,
  facts: object = {},
): void {
  const body = expectStatus(answer, status);
  strictEqual(body['error'], error, answer.text);
  strictEqual(typeof body['message'], 'string');
  strictEqual(typeof body['hint'], 'string');
  strictEqual(typeof body['retryable'], 'boolean');
  const named = Object.fromEntries(Object.keys(facts).map((key) => [key, body[key]]));
  deepStrictEqual(named, facts);
}
