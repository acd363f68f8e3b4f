/** All schedules as chains. There may be ten thousand, with large prompts: they are read and shown in pieces, with others in between. */

import { type ChainTree, treeOf } from '../../../domain/chain.ts';
import { serves } from '../../../domain/lease.ts';
import { type Schedule, targetOf } from '../../../domain/schedule.ts';
import type { Call } from '../../routes.ts';
import { nodeView } from './view.ts';

/** About what one takes in the answer, and beside its prompt in memory. */
const NODE_BYTES = 500;
/** So much is read in one go, and so many are shown. */
const PIECE_BYTES = 524_288;
const PIECE = 200;

interface Edge {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
  readonly schedule: Schedule;
}

export async function scheduleTree(call: Call): Promise<string> {
  const { actor, parts } = call;
  const edges: Edge[] = [];
  for await (const some of pieces(call)) {
    const seen = some.filter(({ spec }) => serves(actor, targetOf(spec)));
    await parts.room.take(call, seen.length * NODE_BYTES);
    edges.push(...seen.map(edgeOf));
  }
  // A parent that this caller may not see has no name here.
  const names = new Map(edges.map(({ id, name }) => [id, name]));
  const nodes = new Map<string, object>();
  for (let at = 0; at < edges.length; at += PIECE)
    await parts.longWork.run(actor, () => {
      for (const { id, parentId, schedule } of edges.slice(at, at + PIECE))
        nodes.set(id, nodeView(schedule, names.get(parentId ?? '') ?? null));
    });
  return parts.longWork.run(actor, () =>
    JSON.stringify({ schedules: treeOf(edges).map((tree) => branch(tree, nodes)) }),
  );
}

/** As many at a time as those before them let expect to be read soon. */
async function* pieces({ engine, actor, parts }: Call): AsyncGenerator<readonly Schedule[]> {
  let [afterNo, limit] = [0, 1];
  for (;;) {
    const from = { afterNo, limit };
    const some = await parts.longWork.run(actor, () => engine.schedules.list(from));
    const last = some.at(-1);
    if (last === undefined) return;
    yield some;
    const bytes = some.reduce((sum, { spec }) => sum + NODE_BYTES + JSON.stringify(spec).length, 0);
    afterNo = last.no;
    limit = Math.max(1, Math.min(PIECE, Math.floor((PIECE_BYTES / bytes) * some.length)));
  }
}

/** Without what is large of a schedule and not shown. */
function edgeOf(schedule: Schedule): Edge {
  const { id, spec } = schedule;
  const { parentId, name } = spec;
  return {
    id,
    parentId,
    name,
    schedule: { ...schedule, spec: { ...spec, payloadMessage: '', params: null } },
  };
}

function branch({ edge, children }: ChainTree<Edge>, nodes: ReadonlyMap<string, object>): object {
  return { ...nodes.get(edge.id), children: children.map((child) => branch(child, nodes)) };
}
