/** A task for the queue, from the words of a chat. */

import { paramsOfWords } from '../domain/add-params.ts';
import type { ChatCommand } from '../domain/chat-command.ts';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { JobType } from '../domain/job-type.ts';
import { LIMITS } from '../domain/limits.ts';
import { UNASSIGNED } from '../domain/bot.ts';
import { audit } from './audit.ts';
import { type Deed, saying } from './chat-deed.ts';
import { accepted, type Core } from './core.ts';
import { CreationBatch } from './creation-batch.ts';
import { JobDrafts } from './job-drafts.ts';

export async function addTask(
  core: Core,
  actor: Actor,
  { type: named, words }: Extract<ChatCommand, { verb: 'add' }>,
): Promise<Deed> {
  const type = typeNamed(await core.types(), named);
  const read = paramsOfWords(type.paramsSchema, words);
  if ('problem' in read) return saying(read.problem);
  if (core.unfinished >= core.settings.maxUnfinishedJobs) throw new SpineError('queue_full');
  const draft = {
    target: UNASSIGNED,
    type: type.name,
    title: titleOf(type, words),
    retry: { mode: 'lineage' },
    announce: true,
    ...(read.params !== null && { params: read.params }),
  } as const;
  const jobs = await new JobDrafts(core).complete(actor, [draft]);
  return {
    within: async (tx, changeSet) => {
      const create = { kind: 'create', actor, jobs, idempotency: null } as const;
      const [answer] = await new CreationBatch(tx, changeSet).create([create]);
      if (answer === undefined) throw new Error('a creation has no answer');
      const [job] = accepted(answer).jobs;
      if (job === undefined) throw new Error('a creation made nothing');
      await audit(tx, changeSet, actor, 'job.add', job.id, { type: type.name, params: read.params });
      return { text: `Added: ${draft.title} (#${job.no})` };
    },
  };
}

/** By its name, or by the beginning of it when no other begins like that. */
export function typeNamed(types: ReadonlyMap<string, JobType>, named: string): JobType {
  const active = [...types.values()].filter((each) => each.active);
  const exact = active.find(({ name }) => name === named);
  const like = exact === undefined ? active.filter(({ name }) => name.startsWith(named)) : [exact];
  const [only] = like;
  if (only !== undefined && like.length === 1) return only;
  const names = (like.length > 0 ? like : active).map(({ name }) => name).slice(0, TYPES_TOLD);
  const which = like.length > 0 ? 'could be several types' : 'is no type';
  const known = names.length === 0 ? 'There is none so far.' : `There is: ${names.join(', ')}`;
  throw new SpineError('not_found', { type: named, problem: `"${named}" ${which}. ${known}` });
}

const TYPES_TOLD = 30;

function titleOf({ label }: JobType, words: readonly string[]): string {
  const title = words.length === 0 ? label : `${label} for ${words.join(' ')}`;
  return title.length <= LIMITS.titleChars ? title : title.slice(0, LIMITS.titleChars).toWellFormed();
}
