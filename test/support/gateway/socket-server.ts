/** The server's side of a WebSocket, as small as a stand-in needs it: text frames, pings, closing. */

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const OPCODE = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 } as const;

export interface ServerSocket {
  send(text: string): void;
  close(code: number, reason: string): void;
  /** Ends it as a crash would. */
  destroy(): void;
}

export interface SocketListener {
  message(text: string): void;
  closed(): void;
}

export function acceptSocket(
  request: IncomingMessage,
  stream: Duplex,
  maxPayload: number,
  listen: (socket: ServerSocket) => SocketListener,
): void {
  const key = `${request.headers['sec-websocket-key'] ?? ''}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash('sha1').update(key).digest('base64');
  stream.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  const send = (opcode: number, payload: Buffer): void => {
    if (stream.writable) stream.write(frame(opcode, payload));
  };
  const socket: ServerSocket = {
    send: (text) => send(OPCODE.text, Buffer.from(text)),
    close: (code, reason) => {
      const payload = Buffer.alloc(2);
      payload.writeUInt16BE(code);
      send(OPCODE.close, Buffer.concat([payload, Buffer.from(reason)]));
      stream.end();
    },
    destroy: () => stream.destroy(),
  };
  const listener = listen(socket);
  let buffered = Buffer.alloc(0);
  let message: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    for (let next = parse(buffered); next !== null; next = parse(buffered)) {
      buffered = buffered.subarray(next.bytes);
      if (next.opcode === OPCODE.close) return socket.close(1000, '');
      if (next.opcode === OPCODE.ping) send(OPCODE.pong, next.payload);
      if (next.opcode !== OPCODE.text && next.opcode !== OPCODE.continuation) continue;
      message.push(next.payload);
      const whole = Buffer.concat(message);
      if (whole.length > maxPayload) return socket.close(1009, '');
      if (!next.final) continue;
      message = [];
      listener.message(whole.toString('utf8'));
    }
  });
  stream.on('error', () => stream.destroy());
  stream.on('close', () => listener.closed());
}

function frame(opcode: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(payload.length < 126 ? 2 : payload.length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  if (head.length === 2) head[1] = payload.length;
  else if (head.length === 4) {
    head[1] = 126;
    head.writeUInt16BE(payload.length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  return Buffer.concat([head, payload]);
}

interface Frame {
  readonly opcode: number;
  readonly final: boolean;
  readonly payload: Buffer;
  readonly bytes: number;
}

/** The first frame, which a client always masks; null while it is not complete. */
function parse(data: Buffer): Frame | null {
  if (data.length < 2) return null;
  const short = data.readUInt8(1) & 0x7f;
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
  const start = 2 + lengthBytes + 4;
  if (data.length < start) return null;
  const length =
    lengthBytes === 8 ? Number(data.readBigUInt64BE(2)) : lengthBytes === 2 ? data.readUInt16BE(2) : short;
  if (data.length < start + length) return null;
  const mask = data.subarray(start - 4, start);
  const payload = Buffer.from(data.subarray(start, start + length)).map(
    (byte, at) => byte ^ (mask[at % 4] ?? 0),
  );
  const first = data.readUInt8(0);
  return {
    opcode: first & 0x0f,
    final: (first & 0x80) !== 0,
    payload: Buffer.from(payload),
    bytes: start + length,
  };
}
