import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type ChainEdge, type ChainTree, chainProblem, treeOf } from '../../src/domain/chain.ts';

const LIMIT = { depth: 10, fanout: 25 };

function edge(id: string, parentId: string | null): ChainEdge {
  return { id, parentId, name: `name of ${id}` };
}

/** p0 is the root, p1 its child, and so on. */
function line(prefix: string, levels: number): ChainEdge[] {
  return Array.from({ length: levels + 1 }, (_, level) =>
    edge(`${prefix}${level}`, level === 0 ? null : `${prefix}${level - 1}`),
  );
}

test('a chain may have ten levels below its root and no eleventh [SC-38]', () => {
  assert.equal(chainProblem(line('p', 9), edge('new', 'p9'), LIMIT), null);
  const problem = chainProblem(line('p', 10), edge('new', 'p10'), LIMIT);
  assert.equal(problem?.field, 'parent_id');
  assert.match(problem?.problem ?? '', /^parent_id would make a chain 11 levels deep; 10 /);
});

test('the depth limit is the one given [SC-38]', () => {
  assert.equal(chainProblem(line('p', 1), edge('new', 'p1'), { depth: 2, fanout: 25 }), null);
  assert.notEqual(chainProblem(line('p', 2), edge('new', 'p2'), { depth: 2, fanout: 25 }), null);
});

test('moving a schedule counts everything that hangs below it [SC-38]', () => {
  const edges = [...line('p', 8), ...line('q', 5)];
  assert.match(chainProblem(edges, edge('q0', 'p8'), LIMIT)?.problem ?? '', /14 levels deep/);
  assert.equal(chainProblem(edges, edge('q0', 'p4'), LIMIT), null);
  assert.notEqual(chainProblem(edges, edge('q0', 'p5'), LIMIT), null);
});

test('a schedule may not be its own parent, nor hang below its own descendant [SC-39]', () => {
  const edges = line('p', 3);
  assert.match(chainProblem(edges, edge('p0', 'p0'), LIMIT)?.problem ?? '', /itself/);
  const problem = chainProblem(edges, edge('p0', 'p3'), LIMIT)?.problem ?? '';
  assert.match(problem, /circle \(name of p0 → name of p1 → name of p2 → name of p3 → name of p0\)/);
  assert.equal(chainProblem(edges, edge('p3', 'p0'), LIMIT), null);
});

test('a parent must exist and may have only so many children', () => {
  assert.match(chainProblem([], edge('new', 'gone'), LIMIT)?.problem ?? '', /gone is not a schedule/);
  const full = [edge('p', null), ...Array.from({ length: 25 }, (_, no) => edge(`c${no}`, 'p'))];
  assert.match(chainProblem(full, edge('new', 'p'), LIMIT)?.problem ?? '', /has 25 children already/);
  // One that is there already takes no new place.
  assert.equal(chainProblem(full, edge('c3', 'p'), LIMIT), null);
  assert.equal(chainProblem(full, edge('new', null), LIMIT), null);
});

function shown<E extends ChainEdge>(trees: readonly ChainTree<E>[]): unknown[] {
  return trees.map(({ edge, children }) => [edge.id, ...shown(children)]);
}

test('a tree nests children under their parents and shows orphans as roots', () => {
  const edges = [edge('d', 'b'), edge('b', 'a'), edge('a', null), edge('o', 'gone'), edge('c', 'a')];
  assert.deepEqual(shown(treeOf(edges)), [['a', ['b', ['d']], ['c']], ['o']]);
  assert.deepEqual(treeOf([]), []);
});

test('whatever the parents are, a tree shows each schedule once, and moves that are allowed make no circle [SC-39]', () => {
  const parents = fc.array(fc.option(fc.nat(11)), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(parents, fc.nat(9), fc.nat(9), (list, child, parent) => {
      const edges = list.map((up, no) => edge(String(no), up === null ? null : String(up)));
      const ids = shown(treeOf(edges)).flat(Infinity).map(String);
      assert.deepEqual(ids.toSorted(), edges.map(({ id }) => id).toSorted());
      const moved = edge(String(child), String(parent));
      if (chainProblem(edges, moved, LIMIT) !== null) return;
      const parentOf = new Map(edges.map(({ id, parentId }) => [id, parentId]));
      const above = new Set<string>();
      let up: string | null = moved.parentId;
      while (up !== null && !above.has(up)) {
        above.add(up);
        up = parentOf.get(up) ?? null;
      }
      assert.ok(!above.has(moved.id));
    }),
  );
});
