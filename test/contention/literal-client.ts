/** A client that follows the text to the letter: it lists, filters, sorts and takes a task by PATCH. It knows no claims. */

const [, , url = '', name = ''] = process.argv;

interface Task {
  readonly id: string;
  readonly owner: string | null;
  readonly status: string;
  readonly priority: number;
  readonly createdAt: number;
}

async function patch(id: string, body: object): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/api/tasks/${id}`, {
    method: 'PATCH',
    headers,
    body: JSON.stringify(body),
  });
  await answer.text();
  return answer.status;
}

async function work(): Promise<string[]> {
  const won: string[] = [];
  for (;;) {
    const tasks = (await (await fetch(`${url}/api/tasks`)).json()) as Task[];
    const [mine] = tasks
      .filter(({ owner, status }) => owner === 'slot-1' && status === 'todo')
      .toSorted((a, b) => b.priority - a.priority || a.createdAt - b.createdAt);
    if (mine === undefined) return won;
    const taken = await patch(mine.id, { status: 'in-progress', metadata: { by: name } });
    if (taken === 409) continue;
    if (taken !== 200) throw new Error(`taking ${mine.id}: ${taken}`);
    won.push(mine.id);
    const done = await patch(mine.id, { status: 'done' });
    if (done !== 200) throw new Error(`ending ${mine.id}: ${done}`);
  }
}

process.send?.('ready');
process.once('message', () => {
  void work().then((won) => process.send?.(won, () => process.disconnect()));
});
