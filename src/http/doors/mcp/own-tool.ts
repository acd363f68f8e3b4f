/** What tools without a route to call have in common: the words of their fields, and how what is given is judged. */

import { jsonSchema } from '../../openapi.ts';
import { Type } from '../../typebox.ts';
import type { checker } from '../../validation.ts';
import { type Arguments, type InputSchema, shownTool, type Tool } from './tool.ts';

export const described = <T extends object>(schema: T, description: string): T => ({
  ...schema,
  description,
});
export const text = (max: number, description: string) =>
  described(Type.String({ minLength: 1, maxLength: max }), description);

export function ownTool(
  row: Parameters<typeof shownTool>[0],
  description: string,
  schema: object,
): Pick<Tool, 'name' | 'shown'> {
  return { name: row.name, shown: shownTool(row, description, jsonSchema(schema) as InputSchema) };
}

export function refuseWrong(check: ReturnType<typeof checker>, given: Arguments): void {
  const problem = check(given);
  if (problem) throw problem;
}
