/** How a server is known to the others: by the site where it runs, and by this very start of it. */

import type { AdoptableRun } from '../domain/run.ts';

/** What a site's name ends with in a server's, and a server's in a claim's. */
const START = '/';
const CLAIM = '#';

export function serverName(site: string, start: string): string {
  return `${site}${START}${start}`;
}

/** A claim of this server's own workers says whose it is. */
export function claimName(server: string, id: string): string {
  return `${server}${CLAIM}${id}`;
}

/** Null when no server's own worker holds it. */
export function holderOf({ claimId }: Pick<AdoptableRun, 'claimId'>): string | null {
  const end = claimId?.lastIndexOf(CLAIM) ?? -1;
  return claimId === null || end === -1 ? null : claimId.slice(0, end);
}

export function siteOf(server: string): string {
  return server.slice(0, server.lastIndexOf(START));
}
