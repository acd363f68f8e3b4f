/** What the generated options say, under the names of their fields. */

import { Option } from 'commander';
import type { JobOption } from '../job-options.ts';
import type { Session } from '../session.ts';
import { given, moment } from './values.ts';

export function fieldOptions(session: Session, declared: readonly JobOption[], options: object): object {
  const said = new Map<string, unknown>(Object.entries(options));
  return given(
    Object.fromEntries(
      declared.map((option) => {
        const value = said.get(new Option(option.flags).attributeName());
        const isTime = option.is === 'time' && typeof value === 'string';
        return [option.field, isTime ? moment(session, value, longFlag(option)) : value];
      }),
    ),
  );
}

export function longFlag({ flags }: JobOption): string {
  return new Option(flags).long ?? flags;
}
