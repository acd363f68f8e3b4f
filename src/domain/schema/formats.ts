/** The formats a schema may name. Each takes time that grows with the text alone. */

const DATE = /^\d{4}-(\d{2})-(\d{2})$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;
const DURATION = /^P(?!$)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?)$/;
const EMAIL = /^[^\s@"]{1,64}@[^\s@."]+(\.[^\s@."]+)*$/;
const LABEL = /^[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/i;
const OCTET = /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/;
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const INT32 = 2_147_483_647;

export const FORMATS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['date', text(isDate)],
  ['time', text((value) => value.length <= 40 && TIME.test(value))],
  ['date-time', text(isDateTime)],
  ['duration', text((value) => value.length <= 100 && DURATION.test(value))],
  ['email', text((value) => value.length <= 320 && EMAIL.test(value))],
  ['hostname', text((value) => value.length <= 253 && value.split('.').every((label) => LABEL.test(label)))],
  ['ipv4', text(isIpv4)],
  ['ipv6', text((value) => value.length <= 45 && value.includes(':') && URL.canParse(`http://[${value}]`))],
  ['uri', text((value) => /^[a-z][a-z\d+.-]*:/i.test(value) && !/\s/.test(value) && URL.canParse(value))],
  ['uri-reference', text((value) => !/\s/.test(value) && URL.canParse(value, 'http://localhost'))],
  ['uuid', text((value) => UUID.test(value))],
  ['int32', number((value) => Number.isInteger(value) && value >= -INT32 - 1 && value <= INT32)],
  ['int64', number(Number.isInteger)],
  ['float', number(Number.isFinite)],
  ['double', number(Number.isFinite)],
  ['password', () => true],
]);

function text(fits: (value: string) => boolean): (value: unknown) => boolean {
  return (value) => typeof value !== 'string' || fits(value);
}

function number(fits: (value: number) => boolean): (value: unknown) => boolean {
  return (value) => typeof value !== 'number' || fits(value);
}

function isDate(value: string): boolean {
  const [, month, day] = DATE.exec(value) ?? [];
  if (month === undefined) return false;
  // Date counts a 31 February on into March.
  const date = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day);
}

function isDateTime(value: string): boolean {
  return (
    value.length <= 60 &&
    /^.{10}[t ]/i.test(value) &&
    isDate(value.slice(0, 10)) &&
    TIME.test(value.slice(11))
  );
}

function isIpv4(value: string): boolean {
  const parts = value.length <= 15 ? value.split('.') : [];
  return parts.length === 4 && parts.every((part) => OCTET.test(part));
}
