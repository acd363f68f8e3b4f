/** Sends spans of jobs to the operator's collector, where there is one. Else nothing of it costs anything. */

import { hostname } from 'node:os';
import { otlp } from '../channels/otlp.ts';
import type { Config } from '../config.ts';
import type { Core } from '../engine/core.ts';
import { Tracer } from '../loops/tracer.ts';
import type { Log } from './log.ts';

type Settings = Pick<Config, 'otlpEndpoint' | 'otlpHeaders' | 'otlpService'>;

export function openTracer(config: Settings, core: Core, version: string, log: Log): Tracer | null {
  const { otlpEndpoint: endpoint, otlpHeaders: headers, otlpService: service } = config;
  if (endpoint === null) return null;
  const instance = `${hostname()}:${process.pid}`;
  const send = otlp({ endpoint, headers: headers ?? {}, service, version, instance });
  const tracer = new Tracer(core, send, (why, spans) =>
    log.sparingly('spans', 'warn', 'Spans are lost: the collector will not take them', { why, spans }),
  );
  core.watchers.push(tracer.watch);
  return tracer;
}
