/** Who is calling, for whoever was given a token and nothing else. */

import { route, type Route } from '../../routes.ts';
import { Me } from './answers.ts';

export const meRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/me',
    name: 'getMe',
    about:
      'Who you are: your name, your role, the targets that you serve (null is all), and the calls that you may make.',
    who: ['head', 'worker', 'viewer', 'run'],
    forShownTokens: true,
    answer: Me,
    handle: async ({ actor, parts }) => {
      const { name, role, targets, grants = [], onlyJob } = actor;
      const job = onlyJob === undefined ? {} : { job: onlyJob };
      return { name, role, targets, grants, ...job, may: parts.callsOpenTo(actor) };
    },
  }),
];
