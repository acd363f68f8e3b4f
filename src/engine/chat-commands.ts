/** What people ask of Spine in a chat: each is done once, in the commit that counts it, and answered from there. */

import { pressOf } from '../domain/button.ts';
import { CHAT_HELP, type ChatCommand, chatCommandOf } from '../domain/chat-command.ts';
import type { ChatPlace, ChatUpdate } from '../domain/chat-update.ts';
import type { Actor } from '../domain/command.ts';
import { type ErrorCode, SpineError } from '../domain/error.ts';
import { addTask } from './chat-add.ts';
import { type Deed, saying } from './chat-deed.ts';
import { status } from './chat-status.ts';
import { decide, pauseOrResume, press } from './chat-steering.ts';
import type { Core } from './core.ts';

type Wanted = Exclude<ChatUpdate, { kind: 'other' }>;

/** Of the same update, whoever brings it once more changes nothing. */
export async function performUpdate(core: Core, bot: string, update: Wanted, allowed = true): Promise<void> {
  const actor: Actor = { name: `telegram:${update.user}`, role: 'head', targets: null };
  try {
    const deed = allowed ? await deedOf(core, actor, update) : saying('You may not do that here.');
    if (await commit(core, bot, actor, update, deed)) deed.after?.();
  } catch (error) {
    if (isForLater(error)) throw error;
    // What was begun is undone; that it was refused counts, and is said.
    await commit(core, bot, actor, update, saying(refusalText(error)));
  }
}

/** Counts updates that nobody has to do anything about. */
export async function passOver(core: Core, bot: string, actor: Actor, next: number): Promise<void> {
  await core.flusher.transact(actor, async (tx, { now }) => {
    if ((await tx.chatReaders.next(bot)).nextUpdate < next) await tx.chatReaders.advance(bot, next, now);
  });
}

async function deedOf(core: Core, actor: Actor, update: Wanted): Promise<Deed> {
  if (update.kind === 'pressed') {
    const pressed = pressOf(update.data);
    return pressed === null ? saying('This button is from another time.') : press(core, actor, pressed);
  }
  const command = chatCommandOf(update.text);
  return 'problem' in command ? saying(command.problem) : doing(core, actor, command);
}

async function doing(core: Core, actor: Actor, command: ChatCommand): Promise<Deed> {
  switch (command.verb) {
    case 'help':
      return saying(CHAT_HELP);
    case 'status':
      return saying(await status(core));
    case 'add':
      return addTask(core, actor, command);
    case 'pause':
    case 'resume':
      return pauseOrResume(core, actor, command);
    case 'approve':
    case 'reject':
      return decide(core, actor, command);
  }
}

/** False when it was done before. */
function commit(core: Core, bot: string, actor: Actor, update: Wanted, deed: Deed): Promise<boolean> {
  return core.flusher.transact(actor, async (tx, changeSet) => {
    const { nextUpdate } = await tx.chatReaders.next(bot);
    if (update.id < nextUpdate) return false;
    const said = await deed.within(tx, changeSet);
    await tx.chatReaders.advance(bot, update.id + 1, changeSet.now);
    const newId = (now: number): string => core.ids.jobId(now);
    const [kind, target] =
      update.kind === 'pressed'
        ? (['press', `press:${update.press}`] as const)
        : (['reply', targetOf(update.place)] as const);
    await changeSet.announcer.reply(tx, { channel: 'telegram', target }, { kind, ...said }, newId);
    return true;
  });
}

function targetOf({ chat, topic }: ChatPlace): string {
  return topic === null ? chat : `${chat}:${topic}`;
}

/** The store, or this server, is not able to now: the update comes again. */
const LATER: ReadonlySet<ErrorCode> = new Set([
  'store_unavailable',
  'outcome_unknown',
  'disk_full',
  'overloaded',
  'shutting_down',
]);

function isForLater(error: unknown): boolean {
  return error instanceof SpineError && LATER.has(error.code);
}

/** What went wrong inside is nobody's business in a chat; without an answer, the same update would come for ever. */
function refusalText(error: unknown): string {
  if (!(error instanceof SpineError)) return 'That could not be done.';
  const { problem } = error.details;
  return typeof problem === 'string' ? problem : error.message;
}
