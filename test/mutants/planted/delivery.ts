/** What leaves the house: where to, once it is time, in order, and nothing inner. */

import type { Mutant } from '../mutant.ts';

export const DELIVERY: readonly Mutant[] = [
  {
    name: 'mapped-address-outside',
    means: 'a webhook reaches this machine when its address is written as IPv6',
    file: 'src/domain/inner-address.ts',
    find: `if (isMapped || isTranslated) return isInnerV4(carried);`,
    replace: `if (isMapped || isTranslated) return false;`,
    seenBy: ['test/domain/inner-address.test.ts'],
  },
  {
    name: 'resolved-address-not-judged',
    means: 'a webhook reaches inner machines by a name that leads there when it is called',
    file: 'src/channels/guard.ts',
    find: `if (inner && !isAllowedHost(hostname, this.#allowedHosts))`,
    replace: `if (inner && addresses.length === 0)`,
    seenBy: ['test/channels/guard.test.ts'],
  },
  {
    name: 'late-sender-heard',
    means: 'a sender that was away too long overwrites what the next one did',
    file: 'src/store/tx/deliveries.ts',
    find: `return row?.[0] === attempts;`,
    replace: `return attempts > 0;`,
    seenBy: ['test/loops/deliverer.test.ts'],
  },
  {
    name: 'told-before-retry',
    means: 'people are told of every failure that a retry makes good',
    file: 'src/engine/change-set.ts',
    find: `return isFinal(state) && settled === SETTLED && retryAt === null;`,
    replace: `return isFinal(state) && settled === SETTLED && retryAt !== 0;`,
    seenBy: ['test/engine/delivering.test.ts'],
  },
  {
    name: 'sentinels-announced',
    means: 'people are told HEARTBEAT_OK all day',
    file: 'src/domain/delivery-text.ts',
    find: `if (deliveryMode === 'announce' && isSentinel(text)) return null;`,
    replace: ``,
    seenBy: ['test/domain/delivery.test.ts'],
  },
  {
    name: 'parts-from-the-start',
    means: 'a long text that was broken off is sent from its beginning again',
    file: 'src/loops/deliverer.ts',
    find: `if (i < partsSent) continue;`,
    replace: ``,
    seenBy: ['test/loops/deliverer.test.ts'],
  },
  {
    name: 'bot-token-in-error',
    means: 'the token of the bot is kept in the database and shown to viewers',
    file: 'src/channels/telegram.ts',
    find: `description.replaceAll(token, '…')`,
    replace: `description`,
    seenBy: ['test/channels/channels.test.ts'],
  },
  {
    name: 'slack-markup-open',
    means: 'what an agent writes can mention everybody in a Slack channel',
    file: 'src/channels/slack.ts',
    find: `.replaceAll('<', '&lt;')`,
    replace: ``,
    seenBy: ['test/channels/channels.test.ts'],
  },
  {
    name: 'approval-not-asked-for',
    means: 'a run waits for a word that nobody was asked for',
    file: 'src/engine/announcing.ts',
    find: `if (own !== null) await this.#add(tx, job, own, asked, newId);`,
    replace: `if (own === undefined) await this.#add(tx, job, own, asked, newId);`,
    seenBy: ['test/engine/delivering.test.ts'],
  },
];
