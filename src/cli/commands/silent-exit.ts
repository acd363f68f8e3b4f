import { CliError } from '../failure.ts';

/** Ends with a code and no further word: what was printed has said it. */
export class SilentExit extends CliError {
  constructor(exitCode: number) {
    super(exitCode, 'silent', '');
  }
}
