/** How many columns of a terminal a text takes. */

/** Combining marks and joiners take none. */
const NONE = /^(?:\p{M}|\u200c|\u200d)$/u;
/** East Asian wide and full-width characters, and emoji. */
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}])$/u;

export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const char of text) width += charWidth(char);
  return width;
}

function charWidth(char: string): number {
  if (NONE.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** At most so many columns; what is cut off leaves an ellipsis. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = '';
  let left = columns - 1;
  for (const char of text) {
    left -= charWidth(char);
    if (left < 0) break;
    kept += char;
  }
  return columns < 1 ? '' : `${kept}…`;
}
