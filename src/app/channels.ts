/** The channels that the settings open. */

import { type ChannelOf, channelsOf } from '../channels/channels.ts';
import type { AddressGuard } from '../channels/guard.ts';
import { log as logChannel } from '../channels/log.ts';
import { webhook } from '../channels/webhook.ts';
import type { Config } from '../config.ts';
import type { OperatorChat } from '../domain/delivery.ts';
import type { Log } from './log.ts';

export function openChannels(config: Config, guard: AddressGuard, log: Log, now: () => number): ChannelOf {
  const main = { name: 'main', url: config.gatewayUrl, token: config.gatewayToken };
  return channelsOf({
    webhook: webhook({ guard, secret: config.webhookSecret, now }),
    log: logChannel((text, facts) => log.info(text, facts)),
    gateways: [main, ...(config.gateways ?? [])],
    telegram: { url: config.telegramUrl, token: config.telegramToken, enabled: config.telegramEnabled },
    slack: { url: config.slackUrl, token: config.slackToken, webhookUrl: config.slackWebhookUrl },
  });
}

/** Where the operator is told of announced jobs: only where there is a bot, and nobody has switched it off. */
export function operatorChat(config: Config): OperatorChat | null {
  const { telegramEnabled, telegramToken, telegramChatId, telegramBatchMs } = config;
  if (!telegramEnabled || telegramToken === null || telegramChatId === null) return null;
  return { channel: 'telegram', target: telegramChatId, batchMs: telegramBatchMs };
}
