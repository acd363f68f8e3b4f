/** What the generated options say, under the names of their fields. */

import { Option } from 'commander';
import type { JobOption } from '../job-options.ts';
import type { Session } from '../session.ts';
import { given, moment } from './values.ts';

export function fieldOptions(session: Session, declared: readonly JobOption[], options: object): object {
  const said = new Map<string, unknown>(Object.entries(options));
  return given(
    Object.fromEntries(
      declared.map(({ field, flags, is }) => {
        const option = new Option(flags);
        const value = said.get(option.attributeName());
        const isTime = is === 'time' && typeof value === 'string';
        return [field, isTime ? moment(session, value, option.long ?? flags) : value];
      }),
    ),
  );
}
