/** Which channel takes a delivery: Spine's own where it has a token, else one of the gateway's. */

import { type Channel, SendError } from './channel.ts';
import { channelOfGateway, gateway, type GatewayAccess } from './gateway.ts';
import { slack, type SlackOptions } from './slack.ts';
import { telegram, type TelegramOptions } from './telegram.ts';

export interface ChannelOptions {
  readonly webhook: Channel;
  readonly log: Channel;
  readonly gateways: readonly GatewayAccess[];
  readonly telegram: Omit<TelegramOptions, 'token'> & {
    readonly token: string | null;
    /** False is the operator's switch: nothing goes to Telegram, by whatever way. */
    readonly enabled: boolean;
  };
  readonly slack: SlackOptions;
}

export type ChannelOf = (name: string) => Channel;

export function channelsOf(options: ChannelOptions): ChannelOf {
  const { gateways, webhook, log } = options;
  const own = new Map<string, Channel>([
    ['webhook', webhook],
    ['log', log],
    ['gateway', gateway(gateways)],
  ]);
  const { token, url, enabled, buttons } = options.telegram;
  if (!enabled) own.set('telegram', switchedOff('Telegram', 'TELEGRAM_ENABLED'));
  else if (token !== null) own.set('telegram', telegram({ url, token, ...(buttons && { buttons }) }));
  if (options.slack.token !== null || options.slack.webhookUrl !== null)
    own.set('slack', slack(options.slack));
  return (name) => own.get(name) ?? channelOfGateway(gateways, name);
}

/** What is kept as failed can be sent after all, once the switch is on again. */
function switchedOff(who: string, setting: string): Channel {
  return {
    parts: (text) => [text],
    send: () => Promise.reject(new SendError(`${who} is switched off: ${setting} is false`, { final: true })),
  };
}
