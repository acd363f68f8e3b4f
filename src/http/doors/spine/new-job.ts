/** A job as a caller describes it. */

import type { Static } from 'typebox';
import { RETRY_MODES } from '../../../domain/job-fields.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { fields, optional, whole } from '../../fields.ts';
import { Type } from '../../typebox.ts';
import { changeSchemas, draftSchemas } from './job-fields.ts';
import { id, json, label, list, Name, text } from './schemas.ts';

const Dependency = Type.Union(
  [id, fields({ job: id, on: optional(Type.Enum(['success', 'failure', 'complete'])) })],
  {
    must: 'a job id, or {job, on} with on one of success, failure, complete',
  },
);

const described = <T extends object>(schema: T, description: string): T => ({ ...schema, description });

export const NewJob = fields({
  ...draftSchemas,
  queue: optional(described(Name, 'the same as target')),
  type: optional(described(Name, 'the type of job')),
  newType: optional(
    described(Type.Boolean(), 'the type may be a new one, though others are declared: it is no typo'),
  ),
  title: optional(described(text(LIMITS.titleChars), 'a title for lists')),
  description: optional(described(text(LIMITS.descriptionChars), 'more about it')),
  spec: optional(described(json, 'what to do')),
  params: optional(described(json, 'parameters, checked against the schema of the type')),
  meta: optional(described(json, 'notes of your own')),
  budget: optional(json),
  tags: optional(list(label(LIMITS.nameChars), LIMITS.tags)),
  retry: optional(
    fields({
      mode: optional(
        described(
          Type.Enum([...RETRY_MODES]),
          'whether the same job runs again (requeue) or every retry is a new one (lineage)',
        ),
      ),
      max: optional(described(whole(0, LIMITS.maxAttempts), 'how often it is tried again')),
      backoffMs: optional(
        described(
          whole(0, LIMITS.backoffMsMax),
          'how long it waits after its first failure, then twice as long each time; 0 is not at all',
        ),
      ),
    }),
  ),
  after: optional(described(list(Dependency, LIMITS.dependencies), 'jobs that must end before')),
  approval: optional(
    described(
      fields({
        timeoutS: optional(whole(1, 30 * 86_400)),
        auto: optional(Type.Enum(['approve', 'reject'])),
      }),
      'somebody has to agree before it runs; within an hour unless said, else it is rejected',
    ),
  ),
  parentId: optional(described(id, 'the running job that asks for this one; workers need it, head does not')),
});
export type NewJobBody = Static<typeof NewJob>;

/** What can be said anew of a job that nobody holds. */
export const JobChange = fields({
  ...changeSchemas,
  params: NewJob.properties.params,
  tags: NewJob.properties.tags,
});

/** By name, as a sentence says them. */
export const CHANGEABLE = Object.keys(JobChange.properties).join(', ');

export const NewJobs = fields({ jobs: list(NewJob, LIMITS.batchJobs, 1) });
