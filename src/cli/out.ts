/** Where words go: data to standard output, everything else to standard error. */

import type { GlobalFlags, Host, Output } from './host.ts';
import { jsonText } from './text/clean.ts';
import { type Line, render } from './text/line.ts';

/** One result in its three forms. `ids` is what --quiet leaves of it. */
export interface Result {
  readonly value: unknown;
  readonly lines: () => readonly Line[];
  readonly ids?: () => readonly string[];
}

export class Out {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly colours: boolean;
  /** What programs are shown of a value; another command may have words of its own. */
  shape: (value: unknown) => unknown = (value) => value;
  readonly #stdout: Output;
  readonly #stderr: Output;

  constructor(host: Pick<Host, 'stdout' | 'stderr' | 'colours'>, flags: GlobalFlags) {
    this.json = flags.json === true;
    this.quiet = flags.quiet === true;
    this.colours = host.colours && flags.color !== false;
    this.#stdout = host.stdout;
    this.#stderr = host.stderr;
  }

  /** The width of the terminal, where 0 means that it does not know; what is piped is never cut. */
  get columns(): number {
    return this.#stdout.isTTY ? this.#stdout.columns || 80 : Infinity;
  }

  result({ value, lines, ids }: Result): void {
    if (this.json) this.#stdout.write(`${jsonText(this.shape(value), 2)}\n`);
    else if (!this.quiet) this.lines(lines());
    else if (ids) this.lines(ids());
  }

  /** One of many results that come one after another: as JSON, one line each. */
  record(value: unknown, lines: () => readonly Line[]): void {
    if (this.json) this.#stdout.write(`${jsonText(value)}\n`);
    else this.lines(lines());
  }

  lines(lines: readonly Line[]): void {
    for (const line of lines) this.#stdout.write(`${render(line, this.colours)}\n`);
  }

  /** What a person may want to know besides. */
  info(line: Line): void {
    if (!this.quiet) this.warn(line);
  }

  warn(line: Line): void {
    // Whether standard error is a terminal is not known here, so it gets no colours.
    this.#stderr.write(`${render(line, false)}\n`);
  }
}
