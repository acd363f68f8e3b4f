/** Text of others on its way to a terminal: what could move the cursor, hide or reorder text becomes visible. */

/** C0, DEL and C1 controls; marks that are invisible or turn the reading direction; tags; halves of characters. */
const DANGEROUS =
  /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Cs}/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

export function clean(text: string): string {
  return text.replace(DANGEROUS, (char) => SHORT[char] ?? escaped(char));
}

function escaped(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
}

/** JSON that is safe to look at: JSON.stringify leaves DEL, C1 controls and direction marks as they are. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(DANGEROUS, (char) =>
    char === '\n' ? char : char.split('').map(jsonEscaped).join(''),
  );
}

function jsonEscaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
