/** Telegram's first Markdown, read as the Bot API reads it: what people see, or its complaint. */

const ENDS: Readonly<Record<string, string>> = { '*': '*', _: '_', '`': '`', '[': ']' };

export function textOfMarkdown(marked: string): string {
  let seen = '';
  let at = 0;
  while (at < marked.length) {
    const char = marked.charAt(at);
    const next = marked.charAt(at + 1);
    if (char === '\\' && next !== '' && next in ENDS) {
      seen += next;
      at += 2;
    } else if (char in ENDS) {
      const mark = marked.startsWith('```', at) ? '```' : char;
      const end = marked.indexOf(mark === '```' ? mark : (ENDS[char] ?? ''), at + mark.length);
      if (end < 0)
        throw new Error(
          `Can't find end of the entity starting at byte offset ${Buffer.byteLength(marked.slice(0, at))}`,
        );
      seen += marked.slice(at + mark.length, end);
      at = end + mark.length;
      const isLink = char === '[' && marked.charAt(at) === '(' && marked.includes(')', at);
      if (isLink) at = marked.indexOf(')', at) + 1;
    } else {
      seen += char;
      at += 1;
    }
  }
  return seen;
}
