/** The sections of the description: which calls belong together. */

interface Tag {
  readonly name: string;
  readonly about: string;
  /** What the paths begin with. */
  readonly starts: readonly string[];
}

/** The first that fits says so. */
export const TAGS: readonly Tag[] = [
  { name: 'jobs', about: 'Jobs: make, claim, do, end, read and steer them.', starts: ['/jobs'] },
  { name: 'questions', about: 'What jobs have asked, and the answers.', starts: ['/questions'] },
  { name: 'files', about: 'Files, as artifacts of jobs or by themselves.', starts: ['/blobs'] },
  {
    name: 'events',
    about: 'What happens, as it happens, and numbers of it.',
    starts: ['/events', '/stats', '/metrics'],
  },
  {
    name: 'types',
    about: 'Kinds of work, pools, and what is paused.',
    starts: ['/types', '/pools', '/pauses', '/targets', '/providers', '/doors'],
  },
  {
    name: 'schedules',
    about: 'What makes jobs by itself, and the runs of it.',
    starts: ['/schedules', '/runs'],
  },
  { name: 'approvals', about: "What waits for a person's word.", starts: ['/approvals'] },
  { name: 'messages', about: 'What agents tell each other.', starts: ['/messages', '/agents'] },
  {
    name: 'deliveries',
    about: 'Texts for people elsewhere, and who gets them.',
    starts: ['/aliases', '/subscriptions', '/deliveries'],
  },
  {
    name: 'admin',
    about: 'Tokens, users, settings and the record of who did what.',
    starts: ['/me', '/tokens', '/users', '/audit', '/config'],
  },
  {
    name: 'bots',
    about: 'Bots that log in and pull typed tasks.',
    starts: ['/api/v1', '/auth', '/worker', '/admin'],
  },
  { name: 'bridge', about: 'Boards and workers that speak of tasks.', starts: ['/api'] },
  { name: 'mcp', about: 'The Model Context Protocol.', starts: ['/mcp'] },
  { name: 'server', about: 'The server itself: is it well, and what can it do.', starts: ['/'] },
];

export const TAG_NAMES: readonly string[] = TAGS.map(({ name }) => name);

export function tagOf(path: string): string {
  const fits = (start: string): boolean => start === '/' || path === start || path.startsWith(`${start}/`);
  return TAGS.find(({ starts }) => starts.some(fits))?.name ?? 'server';
}
