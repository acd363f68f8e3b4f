import type { Handler } from '../command.ts';
import { fact } from './job-lines.ts';

export const whoami: Handler = async (session) => {
  const client = await session.client();
  const me = await client.me();
  const { name, role, targets, grants, job, may } = me;
  session.out.result({
    value: me,
    lines: () => [
      fact('name', name),
      fact('role', role),
      fact('targets', targets?.join(', ') ?? 'all'),
      ...(job === undefined ? [] : [fact('job', job)]),
      ...(grants.length === 0 ? [] : [fact('grants', grants.join(', '))]),
      fact('may', may.join(', ')),
    ],
    ids: () => [name],
  });
};
