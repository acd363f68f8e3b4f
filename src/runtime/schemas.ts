/** JSON Schemas that users write, compiled once each. Their patterns run on a linear-time engine. */

import { Ajv, type ValidateFunction } from 'ajv';
import { RE2JS } from 're2js';
import type { SchemaChecker } from '../domain/ports.ts';

/** Compiled schemas kept; a server has far fewer types in use. */
const KEPT = 500;

/** A pattern like (a+)+$ would hold up the whole server on JavaScript's own engine. */
function linearPattern(pattern: string): { test(text: string): boolean } {
  const compiled = RE2JS.compile(pattern);
  return { test: (text) => compiled.matcher(text).find() };
}
linearPattern.code = 'linearPattern';

export function schemaChecker(): SchemaChecker {
  const compiled = new Map<string, ValidateFunction>();
  const compile = (schema: unknown): ValidateFunction => {
    const key = JSON.stringify(schema);
    let validate = compiled.get(key);
    if (validate === undefined) {
      // One instance for each: two schemas may carry the same $id.
      const ajv = new Ajv({ strict: false, allErrors: false, code: { regExp: linearPattern } });
      validate = ajv.compile(schema as object);
      if (compiled.size >= KEPT) compiled.clear();
      compiled.set(key, validate);
    }
    return validate;
  };
  return {
    problemWith: (schema) => {
      if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
        return 'it must be an object';
      try {
        compile(schema);
        return null;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
    mismatch: (schema, value) => {
      const validate = compile(schema);
      if (validate(value)) return null;
      const [error] = validate.errors ?? [];
      return `${error?.instancePath || 'it'} ${error?.message ?? 'is not allowed'}`;
    },
  };
}
