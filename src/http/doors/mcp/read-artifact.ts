/** The tool that gives back what is in a file, in parts that fit into an answer. */

import type { Actor } from '../../../domain/command.ts';
import { SpineError } from '../../../domain/error.ts';
import { fields, optional, whole } from '../../fields.ts';
import { isOpenTo } from '../../mount.ts';
import type { Call, Route } from '../../routes.ts';
import { fileFor, openWhole } from '../../stored-file.ts';
import { Type } from '../../typebox.ts';
import { checker } from '../../validation.ts';
import { described, ownTool, refuseWrong, text } from './own-tool.ts';
import type { Tool } from './tool.ts';

/** Less than an answer may have, also as base64. */
const PART_BYTES = 30_000;

const Asked = fields({
  id: text(64, 'the id of the file, as list_artifacts tells it'),
  offset: optional(described(whole(0, Number.MAX_SAFE_INTEGER), 'from which byte on; 0 unless said')),
  encoding: optional(
    described(Type.Enum(['utf8', 'base64']), 'how content is written: utf8 (as it is) unless said'),
  ),
});
const check = checker(Asked, 'body');

interface Given {
  readonly id: string;
  readonly offset?: number;
  readonly encoding?: 'utf8' | 'base64';
}

/** Open to whom the download is open. */
export function readArtifact(download: Route): Tool {
  return {
    ...ownTool(
      { name: 'read_artifact', title: 'Read a file of a job', effect: 'looks' },
      'Read a file in parts: nextOffset is the offset of the next part, null at the end. Bytes that are no text come as base64.',
      Asked,
    ),
    isOpenTo: (actor: Actor) => isOpenTo(download, actor),
    run: async (call, given) => {
      refuseWrong(check, given);
      // The schema says that it is so.
      return read(call, given as unknown as Given);
    },
  };
}

async function read(call: Call, { id, offset = 0, encoding = 'utf8' }: Given): Promise<string> {
  const { actor, parts } = call;
  const leave = parts.limits.enter(actor, 'read', 0);
  if (leave instanceof SpineError) throw leave;
  try {
    const file = await fileFor(call, id);
    const { content } = await openWhole(parts, file, false);
    const bytes = await partOf(content, offset);
    const isLast = offset + bytes.length >= file.size;
    const shown = encoding === 'utf8' ? textOf(bytes, isLast) : bytes.toString('base64');
    const end = offset + (encoding === 'utf8' ? Buffer.byteLength(shown) : bytes.length);
    const { filename, contentType, size } = file;
    const nextOffset = end < size ? end : null;
    return JSON.stringify({ id, filename, contentType, size, offset, encoding, content: shown, nextOffset });
  } finally {
    leave?.();
  }
}

/** Whoever stops reading a stream closes it. */
async function partOf(content: AsyncIterable<Uint8Array>, offset: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let at = 0;
  for await (const chunk of content) {
    const wanted = chunk.subarray(Math.max(0, offset - at), offset + PART_BYTES - at);
    if (wanted.length > 0) chunks.push(wanted);
    at += chunk.length;
    if (at >= offset + PART_BYTES) break;
  }
  return Buffer.concat(chunks);
}

/** Without a character that the end cuts in two: the next part begins with it. */
function textOf(bytes: Uint8Array, isLast: boolean): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: !isLast });
  } catch (cause) {
    const message =
      'This is no text in UTF-8, or offset is in the middle of a character; ask with encoding base64.';
    throw new SpineError('bad_request', { field: 'encoding' }, { cause, message });
  }
}
