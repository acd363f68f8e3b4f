/** A few at a time: storage far away takes long for each, and memory is for few. */

const AT_ONCE = 4;

/** The first failure ends it, when what is under way has come to its end. */
export async function forEachOf<T>(items: AsyncIterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const item of items) {
    const one = work(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => underWay.delete(one));
    underWay.add(one);
    if (underWay.size >= AT_ONCE) await Promise.race(underWay);
    if (failures.length > 0) break;
  }
  await Promise.all(underWay);
  if (failures.length > 0) throw failures[0];
}
