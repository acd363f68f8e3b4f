import type { Description, DescribedOperation } from '../../test/http/description.ts';
import type { Random } from '../random.ts';
import { mutated, type Schema, type Surroundings, valid } from './values.ts';

export interface MadeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

const MUTATED_SHARE = 0.4;
const BOUNDARY = 'XopenapiX';

/** A request for the operation: as described, or with one thing wrong somewhere. */
export function makeRequest(
  operation: DescribedOperation,
  description: Description,
  random: Random,
  known: Surroundings['known'],
): MadeRequest {
  const around = { random, known, schemas: description.components.schemas as Record<string, Schema> };
  const isWrong = random.chance(MUTATED_SHARE);
  const headers: Record<string, string> = {};
  const query: string[] = [];
  let { path } = operation;
  for (const parameter of operation.parameters ?? []) {
    const isPath = parameter.in === 'path';
    if (!isPath && random.chance(0.7)) continue;
    const made = valid(parameter.schema, parameter.name, around);
    const text = asText(isWrong && random.chance(0.3) ? mutated(made, random) : made);
    if (isPath) path = path.replace(`{${parameter.name}}`, encodeURIComponent(text));
    else if (parameter.in === 'query') query.push(`${parameter.name}=${encodeURIComponent(text)}`);
    else headers[parameter.name.toLowerCase()] = text.replaceAll(/[^\x20-\x7e]/g, '?').trim();
  }
  if (isWrong && random.chance(0.05)) query.push('unheardOf=1');
  if (random.chance(0.02)) headers['if-none-match'] = '*';
  if (isWrong && random.chance(0.03)) headers['origin'] = 'https://elsewhere.example';
  if (isWrong && random.chance(0.03)) headers['host'] = 'elsewhere.example';
  const body = bodyOf(operation, around, isWrong);
  return {
    method: operation.method,
    path: query.length === 0 ? path : `${path}?${query.join('&')}`,
    headers: { ...headers, ...body?.headers },
    ...(body === undefined ? {} : { body: body.text }),
  };
}

function bodyOf(
  { requestBody }: DescribedOperation,
  around: Surroundings,
  isWrong: boolean,
): { headers: Record<string, string>; text: string } | undefined {
  const { random } = around;
  const [media, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (media === undefined || content === undefined || (isWrong && random.chance(0.05))) return undefined;
  const wrongType = isWrong && random.chance(0.05);
  if (media !== 'application/json') {
    const name = isWrong && random.chance(0.3) ? 'other' : 'file';
    const end = isWrong && random.chance(0.3) ? '' : `\r\n--${BOUNDARY}--\r\n`;
    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="a.txt"\r\n\r\n`;
    const type = wrongType ? 'text/plain' : `${media}; boundary=${BOUNDARY}`;
    return { headers: { 'content-type': type }, text: `${head}${random.next()}${end}` };
  }
  const made = valid(content.schema, '', around);
  const text = JSON.stringify(isWrong ? mutated(made, random) : made) ?? '';
  const cut = isWrong && random.chance(0.05) ? random.int(text.length + 1) : text.length;
  return { headers: { 'content-type': wrongType ? 'text/plain' : media }, text: text.slice(0, cut) };
}

function asText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // Half of a pair cannot be written in a URL.
  return text.toWellFormed();
}
