/** A caller's file name, made fit to be shown: never a path, never control characters. */

const MAX_CHARS = 255;
const NAMELESS = 'file';

export function displayName(given: string | undefined): string {
  const last = (given ?? '').split(/[/\\]/).at(-1) ?? '';
  // Bidirectional marks can make "exe.txt" out of "txt.exe".
  const plain = last
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '')
    .trim();
  // The cut must not leave half a character.
  const short = plain.slice(0, MAX_CHARS).replace(/[\uD800-\uDBFF]$/, '');
  return /^\.*$/.test(short) ? NAMELESS : short;
}

/** RFC 6266: plain ASCII for old clients, the whole name for the others. */
export function contentDisposition(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*!]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
