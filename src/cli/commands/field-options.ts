/** What the generated options say, under the names of their fields. */

import { Option } from 'commander';
import type { JobOption } from '../job-options.ts';
import { given } from './values.ts';

export function fieldOptions(declared: readonly JobOption[], options: object): object {
  const said = new Map<string, unknown>(Object.entries(options));
  return given(
    Object.fromEntries(
      declared.map(({ field, flags }) => [field, said.get(new Option(flags).attributeName())]),
    ),
  );
}
