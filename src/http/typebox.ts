/**
 * TypeBox's builders, as far as they are used here. To load their own code takes 16 % more processor time at every start
 * (630 and 730 ms, side by side on a shared 2-core machine).
 */

import type { TSchema, Type as TypeBox } from 'typebox';

type Options = Readonly<Record<string, unknown>>;

/** Not enumerable, so that no document shows it. */
const OPTIONAL = Symbol('optional');

const builders = {
  Array: (items: TSchema, options?: Options) => ({ type: 'array', items, ...options }),
  Boolean: (options?: Options) => ({ type: 'boolean', ...options }),
  Enum: (values: readonly unknown[], options?: Options) => ({ enum: values, ...options }),
  Integer: (options?: Options) => ({ type: 'integer', ...options }),
  Literal: (value: unknown, options?: Options) => ({ type: typeof value, const: value, ...options }),
  Number: (options?: Options) => ({ type: 'number', ...options }),
  Object: (properties: Readonly<Record<string, TSchema>>, options?: Options) => {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] ?? {})));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
  },
  Optional: (schema: TSchema) => Object.defineProperty({ ...schema }, OPTIONAL, { value: true }),
  String: (options?: Options) => ({ type: 'string', ...options }),
  Union: (anyOf: readonly TSchema[], options?: Options) => ({ anyOf, ...options }),
  Unknown: (options?: Options) => ({ ...options }),
  Unsafe: (schema: TSchema) => schema,
};

// What TypeBox's types compute from their arguments, the compiler cannot find in these few lines.
export const Type = builders as unknown as Pick<typeof TypeBox, keyof typeof builders>;
