/** Sends spans to a collector, as OTLP over HTTP in JSON. */

import type { Span } from '../domain/spans.ts';
import { fieldsOf, post, refused } from './post.ts';

export interface OtlpOptions {
  /** The collector's address; traces go to `/v1/traces` below it. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly service: string;
  readonly version: string;
  /** Which of the servers it is. */
  readonly instance: string;
}

/** Of the spans that were sent, those that the collector did not keep. */
export interface Rejected {
  readonly count: number;
  readonly why: string;
}

export type SendSpans = (spans: readonly Span[], signal: AbortSignal) => Promise<Rejected>;

const TIMEOUT_MS = 10_000;
const WHO = 'the OTLP collector';
const INTERNAL = 1;
const CONSUMER = 5;

export function otlp({ endpoint, headers, service, version, instance }: OtlpOptions): SendSpans {
  const url = new URL(`${endpoint.replace(/\/+$/, '')}/v1/traces`);
  const resource = {
    attributes: attributesOf({
      'service.name': service,
      'service.version': version,
      'service.instance.id': instance,
    }),
  };
  return async (spans, signal) => {
    const scopeSpans = [{ scope: { name: 'spine', version }, spans: spans.map(spanJson) }];
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] });
    const ownType = { 'content-type': 'application/json' };
    const answer = await post({
      url,
      headers: { ...ownType, ...headers },
      body,
      signal,
      timeoutMs: TIMEOUT_MS,
      who: WHO,
    });
    const said = fieldsOf(answer.body);
    if (answer.status < 200 || answer.status > 299) throw refused(WHO, answer, wordsOf(said['message']));
    return rejectedOf(said['partialSuccess'], spans.length);
  };
}

/** A whole number of 64 bits is a text in JSON; some send a number all the same. */
function rejectedOf(partial: unknown, sent: number): Rejected {
  const { rejectedSpans, errorMessage } = (partial ?? {}) as Readonly<Record<string, unknown>>;
  const count = Math.min(sent, Math.max(0, Number(rejectedSpans ?? 0) || 0));
  return { count, why: `${WHO} rejected spans: ${wordsOf(errorMessage) || 'it did not say why'}` };
}

function wordsOf(said: unknown): string {
  return typeof said === 'string' ? said.slice(0, 300) : '';
}

function spanJson({ traceId, spanId, parentSpanId, name, startMs, endMs, ok, links, facts }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== null && { parentSpanId }),
    name,
    kind: name === 'spine.attempt' ? CONSUMER : INTERNAL,
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(Math.max(startMs, endMs)),
    attributes: attributesOf(facts),
    links: links.map((id) => ({ traceId, spanId: id })),
    status: ok === null ? {} : { code: ok ? 1 : 2 },
  };
}

/** More than a number can hold exactly, and so a text. */
function nanos(ms: number): string {
  return `${Math.round(ms)}000000`;
}

function attributesOf(facts: Readonly<Record<string, string | number>>): object[] {
  return Object.entries(facts).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));
}
