/** What is asked for beside the row, each field said once. Written once; JSON is kept as text. */

import { generatedFunction } from './generated-function.ts';

const RULES = {
  title: 'text',
  description: 'text',
  spec: 'json',
  meta: 'json',
  params: 'json',
  tags: 'texts',
  budget: 'json',
} as const;

type Rules = typeof RULES;
type Name = keyof Rules;

export type InputRow = { readonly [K in Name]: Rules[K] extends 'texts' ? readonly string[] : string | null };
/** As it is said. */
export type JobInputDraft = {
  readonly [K in Name]?: Rules[K] extends 'texts'
    ? readonly string[]
    : Rules[K] extends 'json'
      ? unknown
      : string;
};

/** What of it can be said anew, as it is kept. */
export type InputRewording = {
  readonly [K in 'title' | 'description' | 'params' | 'tags']?: NonNullable<InputRow[K]>;
};

export const INPUT_FIELDS = (Object.keys(RULES) as Name[]).map((name) => ({ name, is: RULES[name] }));

/** How each kind is said when nothing is. */
const NONE = { text: 'null', json: 'null', texts: '[]' } as const;

export const inputOf = generatedFunction(
  ['draft'],
  `({ ${INPUT_FIELDS.map(({ name, is }) => {
    const said = is === 'json' ? `JSON.stringify(draft.${name})` : `draft.${name}`;
    return `${name}: draft.${name} === undefined || draft.${name} === null ? ${NONE[is]} : ${said}`;
  }).join(', ')} })`,
) as (draft: JobInputDraft) => InputRow;
