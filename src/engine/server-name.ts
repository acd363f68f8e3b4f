/** How a server is known to the others: by the place where it stands, and by this very start of it. */

import type { AdoptableRun } from '../store/types/scheduling.ts';

/** What a place's name ends with in a server's, and a server's in a claim's. */
const START = '/';
const CLAIM = '#';

export function serverName(place: string, start: string): string {
  return `${place}${START}${start}`;
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

export function placeOf(server: string): string {
  return server.slice(0, server.lastIndexOf(START));
}
