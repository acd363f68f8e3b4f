import { deepStrictEqual, ok, throws } from 'node:assert';
import { suite, test } from 'node:test';
import { SpineError } from '../../src/domain/error.ts';
import { parseBody } from '../../src/http/body.ts';

const parse = (text: string): unknown => parseBody(Buffer.from(text));

function refused(text: string | Buffer, code: string, message: RegExp): void {
  throws(
    () => parseBody(Buffer.from(text)),
    (error: unknown) => {
      ok(error instanceof SpineError);
      deepStrictEqual([error.code, message.test(error.message)], [code, true], error.message);
      return true;
    },
  );
}

suite('a request body', () => {
  test('is read as JSON', () => {
    const value = { text: 'zwölf 🦀 "\\ \n', list: [1, -2.5, null, true], nested: { a: { b: [] } } };
    deepStrictEqual(parse(JSON.stringify(value)), value);
    deepStrictEqual(parse('"\\u00e4 \\ud83e\\udd80"'), 'ä 🦀');
  });

  test('reads as an empty object when there is none', () => {
    deepStrictEqual(parse(''), {});
  });

  test('is refused with the place where it is not JSON', () => {
    refused('{"a":1,}', 'bad_json', /position 7/);
    refused('{', 'bad_json', /not valid JSON/);
    refused('\uFEFF{}', 'bad_json', /not valid JSON/);
    refused('{"a":"\u0000"}', 'bad_json', /not valid JSON/);
    refused('NaN', 'bad_json', /not valid JSON/);
  });

  test('is refused when it is not UTF-8', () => {
    refused(Buffer.from([0x22, 0xff, 0x22]), 'bad_json', /UTF-8/);
    // Half a character, as an old encoder would write it.
    refused(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'bad_json', /UTF-8/);
  });

  test('may be 64 levels deep and no deeper, whatever its texts hold', () => {
    const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    ok(parse(nested(64)));
    refused(nested(65), 'bad_json', /more than 64 levels deep at position 64/);
    refused('{"a":'.repeat(65) + '1' + '}'.repeat(65), 'bad_json', /64 levels/);
    refused(nested(100_000), 'bad_json', /64 levels/);
    ok(parse(JSON.stringify({ text: `${'{['.repeat(100)}\\"${'['.repeat(100)}`, other: '\\' })));
    ok(parse(JSON.stringify(Array.from({ length: 200 }, () => [{}]))));
  });

  test('may have 200,000 objects and lists and no more, not counting those in texts', () => {
    ok(parse(`[${'[],'.repeat(199_998)}[]]`));
    refused(`[${'[],'.repeat(199_999)}[]]`, 'bad_json', /more than 200000 objects and lists/);
    ok(parse(JSON.stringify(['[{'.repeat(200_000)])));
  });

  test('is refused with the field that holds a NUL or half a character', () => {
    refused('{"spec":{"list":["ok","\\u0000"]}}', 'bad_request', /^spec\.list\[1\] holds a NUL character\.$/);
    refused('{"spec":"\\ud800"}', 'bad_request', /^spec holds half a character/);
    refused('{"spec":"\\udd80\\ud83e"}', 'bad_request', /^spec holds half a character/);
    refused('{"spec":{"\\u0000":1}}', 'bad_request', /^spec has a field whose name/);
    refused('{"\\ud800":1}', 'bad_request', /^The body has a field whose name/);
    refused('"\\u0000"', 'bad_request', /^The body holds a NUL/);
    ok(parse('{"spec":"a backslash and u0000: \\\\u0000"}'));
  });

  test('is refused when it could reach into prototypes', () => {
    refused('{"__proto__":{"isAdmin":true}}', 'bad_request', /^The body has a field named __proto__\.$/);
    refused(
      '{"spec":{"a":[{"__proto__":1}]}}',
      'bad_request',
      /^spec\.a\[0\] has a field named __proto__\.$/,
    );
    refused('{"\\u005f_proto__":1}', 'bad_request', /__proto__/);
    refused(
      '{"spec":{"constructor":{"prototype":{"x":1}}}}',
      'bad_request',
      /^spec has a field named constructor\.prototype\.$/,
    );
    ok(parse('{"spec":{"constructor":"a word","prototype":1,"text":"__proto__"}}'));
  });
});
