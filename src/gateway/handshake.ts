/** Opening a WebSocket to a gateway: it challenges, we say who we are, it says what it offers. */

import { at, type Access } from './access.ts';
import { GatewayError } from './errors.ts';
import { Connection } from './connection.ts';
import { type Fields, fields, items, numberOf } from './json.ts';

const PROTOCOL = 4;
/** Admin is what a turn with a model of its own needs. */
const SCOPES = ['operator.read', 'operator.write', 'operator.admin'];

export interface Opened {
  readonly connection: Connection;
  /** Whether the gateway lets us run turns and wait for them. */
  readonly runsTurns: boolean;
}

/** Fails with `down` when there is no WebSocket to be had, with `unauthorized` or `refused` when the gateway does not want us. */
export async function connect(access: Access, onClose: () => void): Promise<Opened> {
  const { clock, limits } = access;
  const challenged = Promise.withResolvers<void>();
  const onEvent = (event: Fields): void => {
    if (event['event'] === 'connect.challenge') challenged.resolve();
  };
  const connection = new Connection(new WebSocket(address(access)), clock, onEvent, (why) => {
    challenged.reject(new GatewayError('down', `no WebSocket to the gateway: ${why}`));
    onClose();
  });
  const callOff = clock.after(limits.connectMs, () =>
    connection.close(`no greeting within ${limits.connectMs} ms`),
  );
  try {
    await challenged.promise;
    return greeted(connection, await connection.request('connect', introduction(access), limits.connectMs));
  } catch (error) {
    connection.close('the greeting failed');
    throw error instanceof GatewayError && error.kind === 'lost'
      ? new GatewayError('down', error.message, { cause: error })
      : error;
  } finally {
    callOff();
  }
}

function address(access: Access): URL {
  const url = at(access, '');
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url;
}

/** A backend client on the gateway's own machine needs no key pair, only the token. */
function introduction({ token }: Access): Fields {
  return {
    minProtocol: PROTOCOL,
    maxProtocol: PROTOCOL,
    client: { id: 'gateway-client', mode: 'backend', version: 'spine', platform: process.platform },
    role: 'operator',
    scopes: SCOPES,
    ...(token === null ? {} : { auth: { token } }),
  };
}

function greeted(connection: Connection, hello: Fields): Opened {
  const methods = items(fields(hello['features'])['methods']);
  const scopes = items(fields(hello['auth'])['scopes']);
  connection.maxPayloadBytes = numberOf(fields(hello['policy'])['maxPayload']) ?? Number.POSITIVE_INFINITY;
  const offered = methods.includes('agent') && methods.includes('agent.wait');
  return { connection, runsTurns: offered && scopes.includes('operator.write') };
}
