/**
 * Peers are installed in bench/ alone, and the rest of the repository is checked without them.
 * So their packages are named at run time, and each peer's file states the part of the API that it uses.
 */
export async function installed<T>(name: string): Promise<T> {
  return (await import(name)) as T;
}
