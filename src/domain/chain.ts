/** Chains of schedules: which parent a schedule may have, and what hangs below one. */

export interface ChainEdge {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
}

export interface ChainTree<E extends ChainEdge> {
  readonly edge: E;
  readonly children: readonly ChainTree<E>[];
}

/** Why a new or moved schedule may not hang where it is put. The root of a chain has depth 0. */
export function chainProblem(
  edges: readonly ChainEdge[],
  moved: ChainEdge,
  limits: { depth: number; fanout: number },
): { field: 'parent_id'; problem: string } | null {
  if (moved.parentId === null) return null;
  const others = edges.filter(({ id }) => id !== moved.id);
  const problem = parentProblem(others, moved, moved.parentId) ?? sizeProblem(others, moved, limits);
  return problem === null ? null : { field: 'parent_id', problem };
}

function parentProblem(others: readonly ChainEdge[], moved: ChainEdge, parentId: string): string | null {
  if (parentId === moved.id)
    return `parent_id names "${moved.name}" itself; choose another schedule as its parent.`;
  const byId = new Map(others.map((edge) => [edge.id, edge]));
  if (!byId.has(parentId)) return `parent_id ${parentId} is not a schedule; use the id of an existing one.`;
  const ancestors = ancestorsOf(byId, parentId);
  if (ancestors.at(-1)?.parentId !== moved.id) return null;
  const path = [moved, ...ancestors.toReversed(), moved].map(({ name }) => name).join(' → ');
  return `parent_id would close a circle (${path}); choose a parent outside its own chain.`;
}

function sizeProblem(
  others: readonly ChainEdge[],
  moved: ChainEdge,
  limits: { depth: number; fanout: number },
): string | null {
  const byId = new Map(others.map((edge) => [edge.id, edge]));
  const above = ancestorsOf(byId, moved.parentId);
  const deepest = above.length + heightOf([...others, moved], moved.id);
  if (deepest > limits.depth)
    return `parent_id would make a chain ${deepest} levels deep; ${limits.depth} below its root are allowed.`;
  const siblings = others.filter(({ parentId }) => parentId === moved.parentId).length;
  if (siblings < limits.fanout) return null;
  return `parent_id names "${above[0]?.name}", which has ${siblings} children already; ${limits.fanout} are allowed.`;
}

/** From a schedule up to its root; stops at a parent that is gone, and where a circle would begin again. */
function ancestorsOf(byId: ReadonlyMap<string, ChainEdge>, from: string | null): readonly ChainEdge[] {
  const path = new Set<ChainEdge>();
  let edge = from === null ? undefined : byId.get(from);
  while (edge !== undefined && !path.has(edge)) {
    path.add(edge);
    edge = edge.parentId === null ? undefined : byId.get(edge.parentId);
  }
  return [...path];
}

/** The levels below a schedule. */
function heightOf(edges: readonly ChainEdge[], id: string): number {
  const depths = new Map([[id, 0]]);
  const children = childrenOf(edges);
  let deepest = 0;
  // Entries that are added while a Map is walked are walked too.
  for (const [parent, depth] of depths) {
    deepest = Math.max(deepest, depth);
    for (const child of children.get(parent) ?? [])
      if (!depths.has(child.id)) depths.set(child.id, depth + 1);
  }
  return deepest;
}

/** Roots with what hangs below them, in the order given. A schedule whose parent is gone stands as a root. */
export function treeOf<E extends ChainEdge>(edges: readonly E[]): ChainTree<E>[] {
  const nodes = new Map(edges.map((edge) => [edge.id, { edge, children: [] as ChainTree<E>[] }]));
  const byId = new Map<string, ChainEdge>(edges.map((edge) => [edge.id, edge]));
  const roots: ChainTree<E>[] = [];
  for (const node of nodes.values()) {
    const parent = node.edge.parentId === null ? undefined : nodes.get(node.edge.parentId);
    if (parent === undefined || opensCircle(byId, node.edge)) roots.push(node);
    else parent.children.push(node);
  }
  return roots;
}

/** Of the members of a circle the one with the smallest id stands as the root, so that none is lost. */
function opensCircle(byId: ReadonlyMap<string, ChainEdge>, edge: ChainEdge): boolean {
  const above = ancestorsOf(byId, edge.parentId);
  return above.includes(edge) && above.every(({ id }) => edge.id <= id);
}

function childrenOf<E extends ChainEdge>(edges: readonly E[]): ReadonlyMap<string, readonly E[]> {
  const children = new Map<string, E[]>();
  for (const edge of edges) {
    if (edge.parentId === null) continue;
    const siblings = children.get(edge.parentId);
    if (siblings === undefined) children.set(edge.parentId, [edge]);
    else siblings.push(edge);
  }
  return children;
}
