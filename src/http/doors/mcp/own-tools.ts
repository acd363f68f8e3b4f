/** Tools without a route to call: files come as text here, and what is too long for one answer is read in parts. */

import { isJsonObject } from '../../../domain/json-object.ts';
import type { Actor } from '../../../domain/command.ts';
import { SpineError } from '../../../domain/error.ts';
import { checker } from '../../validation.ts';
import { fields, optional, textOrNull, whole } from '../../fields.ts';
import { isOpenTo } from '../../mount.ts';
import { InnerRoute } from '../../inner-route.ts';
import { jobId } from '../../job-id.ts';
import type { Call, Route } from '../../routes.ts';
import { storeFile } from '../../store-file.ts';
import { Type } from '../../typebox.ts';
import { described, ownTool, refuseWrong, text } from './own-tool.ts';
import { readArtifact } from './read-artifact.ts';
import type { Tool } from './tool.ts';

/** As much as a request may hold anyway. */
const CONTENT_CHARS = 100_000_000;
const PART_CHARS = 40_000;

const id = text(100, 'the id of the job, or its short number');

const Artifact = fields({
  id,
  filename: text(500, 'what the file is called'),
  content: described(Type.String({ maxLength: CONTENT_CHARS }), 'what is in the file'),
  encoding: optional(
    described(Type.Enum(['utf8', 'base64']), 'how content is written: utf8 (as it is) unless said'),
  ),
  contentType: optional(text(120, 'its media type, such as text/markdown; text/plain unless said')),
  leaseToken: optional(described(textOrNull(200), 'what the claim returned, the proof of the lease')),
});

const Part = fields({
  id,
  field: text(500, 'which field of the job, such as spec, result or result.files[3].text'),
  offset: optional(described(whole(0, Number.MAX_SAFE_INTEGER), 'from which character on; 0 unless said')),
});

/** Storing a file is open to whom its route is open; so is reading one, and reading a job. */
export function ownTools(attach: Route, download: Route, read: Route): readonly Tool[] {
  const reading = new InnerRoute(read);
  return [
    readArtifact(download),
    {
      ...ownTool(
        { name: 'attach_artifact', title: 'Attach a file to a job', effect: 'adds' },
        'Store a file as an artifact of a running job. Pass the leaseToken that the claim returned.',
        Artifact,
      ),
      isOpenTo: (actor: Actor) => isOpenTo(attach, actor),
      run: async (call, given) => {
        refuseWrong(artifactCheck, given);
        // The schema says that it is so.
        return attachArtifact(call, given as unknown as ArtifactGiven);
      },
    },
    {
      ...ownTool(
        { name: 'read_field', title: 'Read a long field of a job', effect: 'looks' },
        'Read one field of a job in parts: nextOffset is the offset of the next part, null at the end.',
        Part,
      ),
      isOpenTo: (actor: Actor) => reading.isOpenTo(actor),
      run: async (call, given) => {
        refuseWrong(partCheck, given);
        const asked = given as unknown as PartAsked;
        const job = await reading.call(call, { params: { id: asked.id }, query: {}, body: undefined });
        return call.parts.longWork.run(call.actor, () => partOf(JSON.parse(job), asked));
      },
    },
  ];
}

const artifactCheck = checker(Artifact, 'body');
const partCheck = checker(Part, 'body');

interface ArtifactGiven {
  readonly id: string;
  readonly filename: string;
  readonly content: string;
  readonly encoding?: 'utf8' | 'base64';
  readonly contentType?: string;
  readonly leaseToken?: string | null;
}

async function attachArtifact(call: Call, given: ArtifactGiven): Promise<string> {
  const { engine, actor, parts } = call;
  const { filename, encoding = 'utf8', contentType = 'text/plain' } = given;
  const leaseToken = given.leaseToken ?? actor.leaseToken ?? null;
  const leave = parts.limits.enter(actor, 'write', 0);
  if (leave instanceof SpineError) throw leave;
  try {
    const job = await jobId({ ...call, params: { id: given.id } });
    // Looked at before the bytes are taken in; whether the lease still holds is judged after them.
    await engine.jobs.get(actor, job);
    const bytes = bytesOf(given.content, encoding);
    const sent = { filename, contentType, content: once(bytes) };
    return JSON.stringify(
      await storeFile(parts, sent, (record) => engine.blobs.attach(actor, job, leaseToken, record)),
    );
  } finally {
    leave?.();
  }
}

function bytesOf(content: string, encoding: 'utf8' | 'base64'): Buffer {
  const bytes = Buffer.from(content, encoding);
  // Node reads as far as it can and says nothing.
  if (encoding === 'utf8' || isBase64(content)) return bytes;
  throw new SpineError('bad_request', { field: 'content' }, { message: 'content must be valid base64.' });
}

/** Without the spaces first: a pattern that lets them stand anywhere would try every way to share them out. */
function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text.replaceAll(/\s+/g, ''));
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

interface PartAsked {
  readonly id: string;
  readonly field: string;
  readonly offset?: number;
}

function partOf(job: unknown, { id, field, offset = 0 }: PartAsked): string {
  const value = valueAt(job, field);
  if (value === undefined) {
    const message = `This job has no field ${JSON.stringify(field)}.`;
    throw new SpineError('not_found', { field }, { message });
  }
  const all = typeof value === 'string' ? value : JSON.stringify(value);
  const end = endOfPart(all, offset);
  return JSON.stringify({
    id,
    field,
    offset,
    text: all.slice(offset, end),
    chars: all.length,
    nextOffset: end < all.length ? end : null,
  });
}

/** Not between the two halves of a character. */
function endOfPart(text: string, offset: number): number {
  const end = offset + PART_CHARS;
  return (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
}

/** `comments[3].text` reads as the fields comments, 3 and text. */
function valueAt(value: unknown, field: string): unknown {
  const steps = field.split(/[.[\]]+/).filter((step) => step !== '');
  return steps.reduce<unknown>((at, step) => {
    if (Array.isArray(at)) return (at as unknown[])[Number(step)];
    return isJsonObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
  }, value);
}
