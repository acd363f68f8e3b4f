/** A dry run does everything in its transaction, and then takes it back. */

/** Carries the result out of a transaction that must not be kept. */
class Rehearsal<T> extends Error {
  readonly result: T;

  constructor(result: T) {
    super();
    this.result = result;
  }
}

/** `end` is called last in the transaction: it keeps what was done, or takes it back. */
export async function rehearsed<T>(isDry: boolean, work: (end: (result: T) => T) => Promise<T>): Promise<T> {
  try {
    return await work((result) => {
      if (isDry) throw new Rehearsal(result);
      return result;
    });
  } catch (error) {
    // Only this very work can have thrown one.
    if (error instanceof Rehearsal) return (error as Rehearsal<T>).result;
    throw error;
  }
}
