/**
 * Telegram's first Markdown. Outside of an entity a backslash takes the meaning of `_ * ` [` away. Inside of one there is no
 * escape: all but its end stands for itself, so that it must be closed before a character that would end it.
 */

const SPECIAL = '_*`[';
const MARKS = /[_*`[]/g;

/** A text as it reads, whatever is in it. */
export function escaped(text: string): string {
  return text.replace(MARKS, '\\$&');
}

/** The same in bold. */
export function bold(text: string): string {
  return text
    .split('*')
    .map((part) => (part === '' ? '' : `*${part}*`))
    .join('\\*');
}

/** What people read of such a text, for a receiver that does not take it with its marks. */
export function unmarked(text: string): string {
  let plain = '';
  let isBold = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === '*') isBold = !isBold;
    else if (char === '\\' && !isBold && SPECIAL.includes(text.charAt(i + 1) || ' '))
      plain += text.charAt(++i);
    else plain += char;
  }
  return plain;
}
