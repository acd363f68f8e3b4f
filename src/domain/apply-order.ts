/** In which order named things are made: what another one hangs on comes before it. */

export interface Named {
  readonly name: string;
  /** The name of its parent, or null. One that is not in the list is there already. */
  readonly parent: string | null;
}

/** The places of the list, parents before children, otherwise as given; those of a circle are left out. */
export function parentsFirst(list: readonly Named[]): number[] {
  const places = new Map(list.map(({ name }, place) => [name, place]));
  const order: number[] = [];
  const made = new Set<number>();
  for (const start of list.keys()) {
    // From the place up to the first parent that is made, or comes from elsewhere.
    const line: number[] = [];
    let place: number | undefined = start;
    while (place !== undefined && !made.has(place) && !line.includes(place)) {
      line.push(place);
      const parent: string | null = list[place]?.parent ?? null;
      place = parent === null ? undefined : places.get(parent);
    }
    if (place !== undefined && line.includes(place)) continue;
    for (const each of line.toReversed()) {
      made.add(each);
      order.push(each);
    }
  }
  return order;
}

/** The places whose name stands earlier in the list. */
export function repeatedNames(list: readonly Pick<Named, 'name'>[]): number[] {
  const first = new Map<string, number>();
  return [...list.entries()].flatMap(([place, { name }]) => {
    if (first.has(name)) return [place];
    first.set(name, place);
    return [];
  });
}
