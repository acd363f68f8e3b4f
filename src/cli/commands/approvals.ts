/** `spine approvals …`: what waits for a person's word. */

import type { Approval, ApprovalStatus } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import type { Session } from '../session.ts';
import { styled } from '../text/line.ts';
import { block } from './job-lines.ts';
import { jobRef } from './job-ref.ts';
import { approvalDetails, approvalStatus, approvalTable } from './schedule-lines.ts';
import { given } from './values.ts';

interface ListOptions {
  readonly status?: ApprovalStatus;
  readonly limit: number;
}

export const listApprovals: Handler<ListOptions> = async (session, { options }) => {
  const { status, limit } = options;
  const approvals = await (await session.client()).approvals.list(given({ status, limit }));
  session.out.result({
    value: { approvals },
    lines: () => {
      if (approvals.length > 0) return approvalTable(approvals, session.now(), session.out.columns);
      if (status === 'pending') session.out.info('Nothing waits for approval.');
      else session.none('No approvals.');
      return [];
    },
    ids: () => approvals.map(({ id }) => id),
  });
};

/** With what is to be agreed to: nobody should have to look elsewhere for it. */
export const getApproval: Handler = async (session, { args: [name = ''] }) => {
  const client = await session.client();
  const approval = await client.approvals.get(await jobRef(client, name));
  const job = await client.jobs.get(approval.run_id);
  session.out.result({
    value: { ...approval, job },
    lines: () => [
      ...approvalDetails(approval, session.now()),
      ...block('target', job.target),
      ...block('spec', job.spec === '' ? undefined : job.spec),
      ...block('params', job.params),
    ],
    ids: () => [approval.id],
  });
};

interface VerdictOptions {
  readonly reason?: string;
  readonly hash?: string;
}

export const approve: Handler<VerdictOptions> = async (session, { args: [name = ''], options }) => {
  const client = await session.client();
  decided(session, await client.approvals.approve(await jobRef(client, name), verdictOf(options)));
};

export const reject: Handler<VerdictOptions> = async (session, { args: [name = ''], options }) => {
  const client = await session.client();
  decided(session, await client.approvals.reject(await jobRef(client, name), verdictOf(options)));
};

function verdictOf({ reason, hash }: VerdictOptions) {
  return { ...given({ reason, hash }), by: 'operator' } as const;
}

export function decided(session: Session, approval: Approval): void {
  session.out.result({
    value: approval,
    lines: () => [
      [
        styled('bold', approval.title ?? 'It'),
        ' is ',
        approvalStatus(approval),
        ' ',
        styled('dim', `(${approval.id})`),
      ],
    ],
    ids: () => [approval.id],
  });
}
