/** A name for a place that texts are delivered to, and how a schedule names such a place. */

import type { ScheduleSpec } from './schedule.ts';

export interface Alias {
  readonly alias: string;
  readonly channel: string;
  readonly target: string;
  readonly description: string | null;
  readonly createdAt: number;
}

/** Where a text goes: somebody's channel, and whom it means there. */
export interface Place {
  readonly channel: string;
  readonly target: string;
}

/** What Spine brings itself. A channel of any other name is one of the gateway's. */
const OWN_CHANNELS = ['telegram', 'slack', 'webhook', 'gateway', 'log'] as const;

/** What a schedule or a subscription wrote: the name of an alias, or the place itself. */
export type Destination = { readonly alias: string } | Place;

const PLACE = new RegExp(`^(${OWN_CHANNELS.join('|')})[:/](.*)$`, 's');

/** `@name` is always an alias. A bare word is one when no channel says otherwise. */
export function destinationOf({
  deliveryChannel: channel,
  deliveryTo: to,
}: Pick<ScheduleSpec, 'deliveryChannel' | 'deliveryTo'>): Destination | null {
  if (to === null) return channel === null ? null : { channel, target: '' };
  if (to.startsWith('@')) return { alias: to.slice(1) };
  if (channel === null && /^https?:/i.test(to)) return { channel: 'webhook', target: to };
  const [, named, target = ''] = PLACE.exec(to) ?? [];
  if (channel === null) return named === undefined ? { alias: to } : { channel: named, target };
  return { channel, target: named === channel ? target : to };
}

/** The aliases that a delivery of this schedule goes by, as people write them. */
export function aliasesNamed(
  spec: Pick<ScheduleSpec, 'deliveryChannel' | 'deliveryTo' | 'deliveryMode'>,
): string[] {
  const destination = spec.deliveryMode === 'none' ? null : destinationOf(spec);
  return destination !== null && 'alias' in destination ? [`@${destination.alias}`] : [];
}

/** A gateway's own channel: `telegram:123` at the main gateway, `ops/telegram:123` at the one called ops. */
export interface GatewayEntry extends Place {
  readonly gateway: string;
}

export function gatewayPlace(target: string): GatewayEntry | null {
  const [, gateway = 'main', channel, rest] = /^(?:([^/:]+)\/)?([a-z][a-z0-9_-]*):(.+)$/s.exec(target) ?? [];
  return channel === undefined || rest === undefined ? null : { gateway, channel, target: rest };
}

/** What is wrong with a place, as far as it can be told without asking anybody. */
export function placeProblem(
  { channel, target }: Place,
  gateways: readonly string[],
): { readonly of: 'channel' | 'target'; readonly problem: string } | null {
  if (!/^[a-z][a-z0-9_-]*$/.test(channel))
    return { of: 'channel', problem: 'is not a channel: use lower-case letters, digits, - and _' };
  if (channel === 'log') return null;
  if (target.trim() === '')
    return { of: 'target', problem: `is missing: say where ${channel} is to deliver` };
  if (channel !== 'gateway') return null;
  const place = gatewayPlace(target);
  if (place === null)
    return {
      of: 'target',
      problem: 'is not a place at a gateway: write channel:target, or gateway/channel:target',
    };
  if (gateways.includes(place.gateway)) return null;
  return { of: 'target', problem: `names the gateway "${place.gateway}", which is not configured` };
}
