import { deepStrictEqual } from 'node:assert';
import { test } from 'node:test';
import { Type as TypeBox } from 'typebox';
import { Type } from '../../src/http/typebox.ts';

/** Every builder, with its options and without. */
function schemas(type: typeof Type): Readonly<Record<string, unknown>> {
  const about = { description: 'what it is' };
  const name = type.String({ minLength: 1, maxLength: 9 });
  return {
    Array: [type.Array(name), type.Array(name, { maxItems: 3, ...about })],
    Boolean: [type.Boolean(), type.Boolean(about)],
    Enum: [type.Enum(['a', 'b']), type.Enum(['a'], about)],
    Integer: [type.Integer(), type.Integer({ minimum: 0, maximum: 5 })],
    Literal: [type.Literal('a'), type.Literal(1), type.Literal(true, about)],
    Number: [type.Number(), type.Number({ minimum: 0.5, ...about })],
    Object: [
      type.Object({}),
      type.Object({ name, at: type.Optional(type.Integer()) }),
      type.Object({ at: type.Optional(type.Integer(about)) }, { additionalProperties: false, ...about }),
    ],
    Optional: [type.Optional(name)],
    String: [type.String(), name],
    Union: [type.Union([name, type.Integer()]), type.Union([name], about)],
    Unknown: [type.Unknown(), type.Unknown(about)],
    Unsafe: [type.Unsafe({ type: ['string', 'null'] })],
  };
}

/** What a document shows of it. */
const shown = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('the stand-in for TypeBox builds every schema as TypeBox does', () => {
  const [ours, theirs] = [schemas(Type), schemas(TypeBox)];
  deepStrictEqual(Object.keys(ours).toSorted(), Object.keys(Type).toSorted());
  for (const [builder, built] of Object.entries(ours))
    deepStrictEqual(shown(built), shown(theirs[builder]), builder);
});
