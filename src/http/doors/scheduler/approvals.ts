/** What waits for somebody's word. Only head gives it: no worker and no run approves anything, least of all its own job. */

import type { Actor } from '../../../domain/command.ts';
import type { Engine } from '../../../engine/engine.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { Approval, Approvals } from './answers.ts';
import { ApprovalsQuery, ScheduleParams, VerdictBody, VerdictOfBody } from './schemas.ts';
import { ABOUT_ONE, HEAD, READERS, seen } from './schedules.ts';
import { approvalView } from './view.ts';
import { jobId } from '../../job-id.ts';

type Verdict = Parameters<Engine['approvals']['resolve']>[2];
type ApprovalRecord = Awaited<ReturnType<Engine['approvals']['get']>>;
type Verb = 'approve' | 'reject';

const PAGE = 100;
const ABOUT = {
  approve: 'Let it run. With hash, only if it is still what you saw.',
  reject: 'Do not let it run: the job is cancelled, with the reason.',
} as const;

export const approvalRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/approvals',
    name: 'listApprovals',
    about: 'List what waits for approval and what was decided, newest first.',
    who: READERS,
    query: ApprovalsQuery,
    answer: Approvals,
    handle: ({ engine, actor, query, parts }) =>
      parts.longWork.run(actor, async () => {
        const { limit = PAGE } = query;
        const found = await engine.approvals.list({ ...query, limit });
        const last = found.length === limit ? found.at(-1) : undefined;
        const approvals = (await visible(engine, actor, found)).map(approvalView);
        return { approvals, next_before: last?.jobNo ?? null };
      }),
  }),
  route({
    method: 'GET',
    path: '/approvals/:id',
    name: 'getApproval',
    about: 'Read one approval; it has the id of the job that waits.',
    who: READERS,
    answer: Approval,
    errors: ['not_found', 'forbidden'],
    handle: async (call) => approvalView(await call.engine.approvals.get(await waitingJob(call))),
  }),
  deciding('approve'),
  deciding('reject'),
  decidingOf('approve'),
  decidingOf('reject'),
];

/** Most callers see every target, and need no second look. */
async function visible(
  engine: Engine,
  actor: Actor,
  approvals: readonly ApprovalRecord[],
): Promise<readonly ApprovalRecord[]> {
  if (actor.targets === null) return approvals;
  const ids = await engine.jobs.idsOf(
    actor,
    approvals.map(({ jobNo }) => String(jobNo)),
  );
  return approvals.filter(({ jobNo }) => typeof ids.get(String(jobNo)) === 'string');
}

function deciding(verb: Verb): Route {
  return route({
    method: 'POST',
    path: `/approvals/:id/${verb}`,
    name: verb,
    about: ABOUT[verb],
    who: HEAD,
    body: VerdictBody,
    answer: Approval,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { hash } = call.body;
      const said = { ...verdict(verb, call.body), ...(hash !== undefined && { hash }) };
      return approvalView(await call.engine.approvals.resolve(call.actor, await waitingJob(call), said));
    },
  });
}

function decidingOf(verb: Verb): Route {
  return route({
    method: 'POST',
    path: `/schedules/:id/${verb}`,
    name: `${verb}Schedule`,
    about: `${verb === 'approve' ? 'Approve' : 'Reject'} the oldest run of a schedule that waits for it.`,
    who: HEAD,
    params: ScheduleParams,
    body: VerdictOfBody,
    answer: Approval,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { id } = await seen(call);
      return approvalView(await call.engine.approvals.resolveOf(call.actor, id, verdict(verb, call.body)));
    },
  });
}

function verdict(verb: Verb, { reason, by }: { reason?: string | null; by?: Verdict['by'] }): Verdict {
  return { agree: verb === 'approve', notes: reason ?? null, by: by ?? 'api' };
}

/** The job that the path names, if this caller may see it. */
async function waitingJob(call: Call): Promise<string> {
  const { id } = await call.engine.jobs.get(call.actor, await jobId(call));
  return id;
}
