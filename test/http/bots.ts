import type { TestContext } from 'node:test';
import type { OpenEngine } from '../../src/engine/open-engine.ts';
import { type HttpClient, httpClient } from '../support/http.ts';

const HEAD = { name: 'head', role: 'head', targets: null } as const;
const PASSWORD = 'a password of some length';

/** Adds somebody who logs in, and answers a client that has. */
export async function loggedIn(
  t: TestContext,
  { engine, url }: { readonly engine: OpenEngine; readonly url: string },
  name: string,
  rights: { readonly admin?: boolean; readonly worker?: boolean },
): Promise<HttpClient> {
  const email = `${name}@example.org`;
  await engine.users.add(HEAD, { email, password: PASSWORD, fullName: name, ...rights });
  const { accessToken } = await engine.logins.logIn('127.0.0.1', email, PASSWORD);
  const http = httpClient(url, { token: accessToken });
  t.after(() => http.close());
  return http;
}
