/** The channels that the settings open. */

import { type ChannelOf, channelsOf } from '../channels/channels.ts';
import type { AddressGuard } from '../channels/guard.ts';
import { log as logChannel } from '../channels/log.ts';
import { webhook } from '../channels/webhook.ts';
import { telegramUpdates, type UpdateSource } from '../channels/telegram-updates.ts';
import type { Config } from '../config.ts';
import type { OperatorChat } from '../domain/delivery.ts';
import type { Log } from './log.ts';

export function openChannels(config: Config, guard: AddressGuard, log: Log, now: () => number): ChannelOf {
  const main = { name: 'main', url: config.gatewayUrl, token: config.gatewayToken };
  return channelsOf({
    webhook: webhook({ guard, secret: config.webhookSecret, now }),
    log: logChannel((text, facts) => log.info(text, facts)),
    gateways: [main, ...(config.gateways ?? [])],
    telegram: {
      url: config.telegramUrl,
      token: config.telegramToken,
      enabled: config.telegramEnabled,
      buttons: commandChats(config).length > 0,
    },
    slack: { url: config.slackUrl, token: config.slackToken, webhookUrl: config.slackWebhookUrl },
  });
}

/** The chats in which commands are taken; a topic of one does not stand alone. */
function commandChats({ telegramAllowedChatIds, telegramChatId }: Config): readonly string[] {
  if (telegramAllowedChatIds !== null) return telegramAllowedChatIds;
  return telegramChatId === null ? [] : [telegramChatId.split(':', 1)[0] ?? ''];
}

/** Where commands come from: only where there is a bot, a chat that may command, and nobody has switched it off. */
export function chatCommands(
  config: Config,
  onTrouble: (problem: string) => void,
): {
  readonly source: UpdateSource;
  readonly allowed: readonly string[];
  readonly onTrouble: (problem: string) => void;
} | null {
  const { telegramEnabled, telegramToken: token, telegramUrl: url } = config;
  const allowed = commandChats(config);
  if (!telegramEnabled || token === null || allowed.length === 0) return null;
  return { source: telegramUpdates({ url, token }), allowed, onTrouble };
}

/** Where the operator is told of announced jobs: only where there is a bot, and nobody has switched it off. */
export function operatorChat(config: Config): OperatorChat | null {
  const { telegramEnabled, telegramToken, telegramChatId, telegramBatchMs } = config;
  if (!telegramEnabled || telegramToken === null || telegramChatId === null) return null;
  return { channel: 'telegram', target: telegramChatId, batchMs: telegramBatchMs };
}
