/** How many requests each route has answered, by status. Counting is one addition, because every request pays for it. */

export interface RequestCount {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly n: number;
}

/** Requests that reached no route are counted under this name: their paths are the caller's, and without bound. */
export const NO_ROUTE = '(none)';

export class RequestCounts {
  readonly #byRoute = new Map<string, { method: string; route: string; byStatus: Map<number, number> }>();

  of(method: string, route: string): (status: number) => void {
    const key = `${method} ${route}`;
    const entry = this.#byRoute.get(key) ?? { method, route, byStatus: new Map<number, number>() };
    this.#byRoute.set(key, entry);
    const { byStatus } = entry;
    return (status) => void byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
  }

  list(): RequestCount[] {
    return [...this.#byRoute.values()].flatMap(({ method, route, byStatus }) =>
      [...byStatus].map(([status, n]) => ({ method, route, status, n })),
    );
  }
}
