/**
 * What failures have in common that are the same but for their details: the text with everything folded that differs from
 * one time to the next.
 */

/** Of a longer text the beginning tells. */
const LOOKED_AT_CHARS = 2_000;
const KEPT_CHARS = 300;

/** In this order: what is part of something larger comes after it. */
const FOLDS: readonly (readonly [what: RegExp, as: string])[] = [
  // oxlint-disable-next-line no-control-regex -- colours of a terminal are what is to be removed
  [/\u001b\[[0-9;?]*[A-Za-z]/g, ''],
  [/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/gi, '<url>'],
  [/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, '<email>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?/g, '<time>'],
  [/\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]m)?\b/gi, '<time>'],
  [/(?<![\w<])(?:[A-Za-z]:)?(?:~|\.{1,2})?(?:[\\/][\w.@+-]+){2,}[\\/]?/g, '<path>'],
  [/\b0x[0-9a-f]+\b/gi, '<id>'],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b/gi, '<id>'],
  [/\b(?=\w*\d)(?=\w*[A-Za-z])\w{16,}\b/g, '<id>'],
  [/#?-?\b\d+(?:[.,_]\d+)*(?=\b|[a-z%])/gi, '<n>'],
];

/** The text without its details, to be read and compared. */
export function foldedFailure(text: string): string {
  let folded = text.slice(0, LOOKED_AT_CHARS).toWellFormed();
  for (const [what, as] of FOLDS) folded = folded.replaceAll(what, as);
  return folded
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .toLowerCase()
    .slice(0, KEPT_CHARS)
    .toWellFormed();
}

/** The same for failures of one type that are the same. Short enough to be typed. */
export function fingerprintOf(typeNo: number, text: string): string {
  return `${typeNo.toString(36)}-${hash(`${typeNo}\n${foldedFailure(text)}`)}`;
}

/** Two hashes of 32 bits, FNV-1a from two beginnings: nobody is harmed by two failures that are taken for one. */
function hash(text: string): string {
  let [one, other] = [0x81_1c_9d_c5, 0x1b_87_35_93];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    one = Math.imul(one ^ unit, 0x01_00_01_93);
    other = Math.imul(other ^ ((unit << 7) | (unit >>> 9)), 0x01_00_01_93);
  }
  return [one, other].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}
