/** Every bug that is planted, in the order of the product's parts. */

import type { Mutant } from './mutant.ts';
import { ANSWERS } from './planted/answers.ts';
import { BACKUP } from './planted/backup.ts';
import { CLIENTS } from './planted/clients.ts';
import { DELIVERY } from './planted/delivery.ts';
import { DOORS } from './planted/doors.ts';
import { FAIRNESS } from './planted/fairness.ts';
import { KEYS } from './planted/keys.ts';
import { LEASES } from './planted/leases.ts';
import { PROMPT } from './planted/prompt.ts';
import { QUESTIONS } from './planted/questions.ts';
import { MAIL } from './planted/mail.ts';
import { QUEUE } from './planted/queue.ts';
import { RECOVERY } from './planted/recovery.ts';
import { RETRIES } from './planted/retries.ts';
import { SCHEDULER } from './planted/scheduler.ts';
import { SECRETS } from './planted/secrets.ts';
import { STEERING } from './planted/steering.ts';
import { STORAGE } from './planted/storage.ts';
import { SURVIVORS } from './planted/survivors.ts';
import { WORKERS } from './planted/workers.ts';

export const ALL: readonly Mutant[] = [
  ...LEASES,
  ...KEYS,
  ...QUEUE,
  ...QUESTIONS,
  ...RETRIES,
  ...SCHEDULER,
  ...DELIVERY,
  ...MAIL,
  ...DOORS,
  ...ANSWERS,
  ...PROMPT,
  ...SECRETS,
  ...FAIRNESS,
  ...STEERING,
  ...STORAGE,
  ...RECOVERY,
  ...BACKUP,
  ...CLIENTS,
  ...WORKERS,
  ...SURVIVORS,
];
