/** Lines for people. Every piece is cleaned when it is printed, so that no text of others gets through to the terminal as it is. */

import { styleText } from 'node:util';
import { clean } from './clean.ts';

export type Style = Parameters<typeof styleText>[0];

export interface Styled {
  readonly text: string;
  readonly style: Style;
}

export type Piece = string | Styled;
export type Line = Piece | readonly Piece[];

export function styled(style: Style, text: string): Styled {
  return { text, style };
}

export function textOf(piece: Piece): string {
  return typeof piece === 'string' ? piece : piece.text;
}

export function render(line: Line, colours: boolean): string {
  const pieces = typeof line === 'string' || 'text' in line ? [line] : line;
  return pieces
    .map((piece) => {
      const text = clean(textOf(piece));
      if (typeof piece === 'string' || !colours || text === '') return text;
      return styleText(piece.style, text, { validateStream: false });
    })
    .join('')
    .trimEnd();
}
