import { isJsonObject } from '../domain/json-object.ts';
import { isIPv4, isIPv6 } from 'node:net';
import { isZone } from '../domain/time-zone.ts';

/** How one kind of setting is read from text. `allowed` says in the docs what may be written. */
export interface Type<T> {
  readonly allowed: string;
  parse(text: string): Parsed<T>;
}

/** A problem reads on from the setting's name: "is not a whole number of seconds". */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

const good = <T>(value: T): Parsed<T> => ({ ok: true, value });
const bad = (problem: string): Parsed<never> => ({ ok: false, problem });

export function whole(min: number, max: number, unit = ''): Type<number> {
  const ofUnit = unit && ` of ${unit}`;
  const range = `${min} to ${max}${unit && ` ${unit}`}`;
  return {
    allowed: `whole number, ${range}`,
    parse(text) {
      if (!/^\d+$/.test(text)) return bad(`is not a whole number${ofUnit}`);
      const value = Number(text);
      return value >= min && value <= max ? good(value) : bad(`is out of range: ${range}`);
    },
  };
}

/** Only whether it is set counts. */
export const anything: Type<string> = { allowed: 'any text', parse: good };

/** A service named "spine" makes Kubernetes set SPINE_PORT=tcp://… in every container beside it. */
export const port: Type<number> = {
  allowed: whole(0, 65535).allowed,
  parse(text) {
    if (text.startsWith('tcp:'))
      return bad('comes from a Kubernetes service link: set enableServiceLinks: false');
    return whole(0, 65535).parse(text);
  },
};

export function choice<const T extends string>(...options: readonly T[]): Type<T> {
  return {
    allowed: options.join(', '),
    parse(text) {
      const value = options.find((option) => option === text);
      return value ? good(value) : bad(`is not one of ${options.join(', ')}`);
    },
  };
}

const FLAGS: Readonly<Record<string, boolean>> = {
  true: true,
  on: true,
  yes: true,
  1: true,
  false: false,
  off: false,
  no: false,
  0: false,
};

export const flag: Type<boolean> = {
  allowed: 'true, false',
  parse(text) {
    const value = FLAGS[text.toLowerCase()];
    return value === undefined ? bad('is not true or false') : good(value);
  },
};

export const host: Type<string> = {
  allowed: 'host name or IP address',
  parse(text) {
    if (isIPv6(text)) return good(text);
    // Digits and dots that are no address would be looked up as a name, and never found.
    if (/^[\d.]+$/.test(text) ? isIPv4(text) : isHostName(text)) return good(text.toLowerCase());
    return bad('is not a host name or IP address (without port or brackets)');
  },
};

/** An address, or a network as 10.0.0.0/8. */
export const network: Type<string> = {
  allowed: 'IP address or network, such as 127.0.0.1 or 10.0.0.0/8',
  parse(text) {
    const [address = '', bits, more] = text.split('/');
    const most = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
    const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
    return most > 0 && fits && more === undefined ? good(text) : bad('is not an IP address or network');
  },
};

/** As browsers name it: where a page comes from, without anything that follows. */
export const origin: Type<string> = {
  allowed: 'origin of a page: http or https, host, and port where it is another',
  parse(text) {
    const given = text.toLowerCase();
    const isOne = /^https?:\/\/[^/]+$/.test(given) && URL.canParse(given) && new URL(given).origin === given;
    return isOne
      ? good(given)
      : bad('is not the origin of a page, for example https://board.example or http://localhost:5173');
  },
};

const isHostName = (text: string): boolean =>
  text.length <= 253 && /^[a-z\d_]([a-z\d_-]*[a-z\d_])?(\.[a-z\d_]([a-z\d_-]*[a-z\d_])?)*$/i.test(text);

export const path: Type<string> = {
  allowed: 'path',
  parse(text) {
    if (text === '') return bad('is empty');
    if (text.startsWith('~')) return bad('starts with ~, which only a shell expands: write the whole path');
    return good(text);
  },
};

export const httpUrl: Type<string> = {
  allowed: 'http:// or https:// URL',
  parse(text) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
      return bad('is not an http:// or https:// URL');
    if (url.username || url.password) return bad('must not carry a user name or password');
    return good(text);
  },
};

/** `key=value,key=value`, as OpenTelemetry writes headers. */
export const headers: Type<Readonly<Record<string, string>>> = {
  allowed: 'key=value,key=value',
  parse(text) {
    const found: Record<string, string> = {};
    for (const part of text.split(',').filter((each) => each.trim() !== '')) {
      const [, name, value] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*([\x20-\x7e]*?)\s*$/.exec(part) ?? [];
      const decoded = value === undefined ? null : decodedOrNull(value);
      if (name === undefined || decoded === null || /[\r\n\0]/.test(decoded))
        return bad('is not a list of key=value, with commas between them');
      found[name.toLowerCase()] = decoded;
    }
    return good(found);
  },
};

function decodedOrNull(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export const postgresUrl: Type<string> = {
  allowed: 'postgres:// or postgresql:// URL',
  parse(text) {
    if (text.trim() === '') return bad('is set but empty: unset it to use SQLite');
    // The URL parser drops spaces and line ends silently; in a password they would matter.
    if (!/^postgres(ql)?:\/\/\S+$/.test(text) || !URL.canParse(text))
      return bad('is not a postgres:// or postgresql:// URL');
    return good(text);
  },
};

export const secretText: Type<string> = {
  allowed: 'text',
  parse: (text) => (text.trim() === '' ? bad('is set but empty') : good(text)),
};

const LONG_SECRET_CHARS = 32;

/** What is signed with less could be guessed. */
export const longSecret: Type<string> = {
  allowed: 'text of 32 characters or more',
  parse: (text) =>
    text.trim().length < LONG_SECRET_CHARS
      ? bad(`must have at least ${LONG_SECRET_CHARS} characters (openssl rand -base64 48)`)
      : good(text.trim()),
};

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000 };

/** As other programs write it: `168h`, `30m`, `90s`. Milliseconds inside. */
export function duration(minMs: number, maxMs: number): Type<number> {
  return {
    allowed: 'duration like 30m or 168h',
    parse: (text) => {
      const [, count, unit = ''] = /^(\d{1,9})([hms])$/.exec(text.trim()) ?? [];
      if (count === undefined) return bad('is not a duration like 30m or 168h');
      const ms = Number(count) * (UNIT_MS[unit] ?? 0);
      return ms < minMs || ms > maxMs ? bad(`must be from ${minMs / 1_000}s to ${maxMs / 1_000}s`) : good(ms);
    },
  };
}

/** A name that other programs may have set for themselves: empty is as good as not there. */
export const sharedSecret: Type<string | null> = {
  allowed: 'text',
  parse: (text) => good(text.trim() === '' ? null : text.trim()),
};

/** It stands in the path of every call; empty is as good as not there. */
export const botToken: Type<string | null> = {
  allowed: 'text',
  parse(text) {
    if (text.trim() === '') return good(null);
    return /^[\w:-]+$/.test(text.trim())
      ? good(text.trim())
      : bad('is not the token of a Telegram bot, like 123456:ABC-DEF');
  },
};

/** A chat of Telegram; empty is as good as not there. */
export const chatId: Type<string | null> = {
  allowed: 'number, @name, or either with :topic',
  parse(text) {
    if (text.trim() === '') return good(null);
    return /^(-?\d+|@\w+)(:\d+)?$/.test(text.trim())
      ? good(text.trim())
      : bad('is not a chat of Telegram: a number like -1001234567890, or @name');
  },
};

/** The same without a topic. */
export const chat: Type<string> = {
  allowed: 'number or @name',
  parse: (text) =>
    /^(-?\d+|@\w+)$/.test(text)
      ? good(text)
      : bad('is not a chat of Telegram: a number like -1001234567890, or @name'),
};

/** In minutes after midnight. */
export const timeOfDay: Type<number> = {
  allowed: 'time like 08:00',
  parse(text) {
    const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
    return hour === undefined
      ? bad('is not a time of the day, like 08:00')
      : good(Number(hour) * 60 + Number(minute));
  },
};

export const zone: Type<string> = {
  allowed: 'name of a time zone',
  parse: (text) => (isZone(text) ? good(text) : bad('is not a time zone, like Europe/Berlin')),
};

/** What ends up in addresses and file names as it is. */
export const name: Type<string> = {
  allowed: 'name',
  parse: (text) =>
    /^[\w-][\w.-]{0,99}$/.test(text) ? good(text) : bad('is not a name: use letters, digits, . - and _'),
};

export const bucketName: Type<string> = {
  allowed: 'name of a bucket',
  parse: (text) =>
    /^[a-z\d][a-z\d.-]{1,61}[a-z\d]$/i.test(text) && !text.includes('..')
      ? good(text)
      : bad('is not the name of a bucket: 3 to 63 letters, digits, dots and hyphens'),
};

export const keyPrefix: Type<string> = {
  allowed: 'names with / between them',
  parse(text) {
    const parts = text.replace(/^\/+|\/+$/g, '').split('/');
    const isPlain = parts.every((part) => /^[\w.-]+$/.test(part) && !/^\.+$/.test(part));
    return isPlain && text.length <= 200
      ? good(parts.join('/'))
      : bad('is not a prefix: use letters, digits, . - and _, with / between');
  },
};

export function list<T>(item: Type<T>): Type<readonly T[]> {
  return {
    allowed: `${item.allowed}; several separated by commas`,
    parse(text) {
      const values: T[] = [];
      for (const part of items(text)) {
        const parsed = item.parse(part);
        if (!parsed.ok) return bad(`holds an item that ${parsed.problem}`);
        values.push(parsed.value);
      }
      return good(values);
    },
  };
}

/** Empty items are no tokens: an unset variable in `HEAD_TOKENS=$OLD,$NEW` must not open the door. */
const items = (csv: string): string[] =>
  csv
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

const TOKEN_MAX_CHARS = 512;

const token: Type<string> = {
  allowed: 'token',
  parse(text) {
    // Anything else cannot be sent in an Authorization header as it is.
    if (!/^[\x21-\x7e]+$/.test(text)) return bad('holds spaces or characters outside ASCII');
    return text.length <= TOKEN_MAX_CHARS ? good(text) : bad(`is longer than ${TOKEN_MAX_CHARS} characters`);
  },
};

export const manyTokens: Type<readonly string[]> = list(token);

/** One token, kept as a list so that both spellings of a role's tokens add up. */
export const oneToken: Type<readonly string[]> = {
  allowed: token.allowed,
  parse(text) {
    if (text.includes(',')) return bad('holds a comma: several tokens go into the setting with an S');
    const [only] = items(text);
    if (only === undefined) return good([]);
    const parsed = token.parse(only);
    return parsed.ok ? good([parsed.value]) : parsed;
  },
};

export interface GatewayEntry {
  readonly name: string;
  readonly url: string;
  readonly token: string | null;
  readonly hookToken: string | null;
}

const GATEWAY_FIELDS = ['url', 'token', 'hookToken'];

/** `{"ops": {"url": "…", "token": "…", "hookToken": "…"}}` */
export const gatewayList: Type<readonly GatewayEntry[]> = {
  allowed: 'JSON object of gateways by name',
  parse(text) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return bad('is not JSON');
    }
    if (!isRecord(value)) return bad('is not an object of gateways by name');
    const entries: GatewayEntry[] = [];
    for (const [name, entry] of Object.entries(value)) {
      const problem = gatewayProblem(name, entry);
      if (problem !== null) return bad(problem);
      const {
        url,
        token = null,
        hookToken = null,
      } = entry as Pick<GatewayEntry, 'url'> & Partial<GatewayEntry>;
      entries.push({ name, url, token, hookToken });
    }
    return good(entries);
  },
};

/** `["program","argument"]`: no shell reads it. */
export const commandLine: Type<readonly string[]> = {
  allowed: 'JSON array of a program and its arguments',
  parse(text) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return bad('is not JSON');
    }
    const isWords =
      Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string');
    return isWords && (value as string[])[0] !== ''
      ? good(value as string[])
      : bad('is not a list of a program and its arguments, for example ["claude","-p"]');
  },
};

function gatewayProblem(name: string, entry: unknown): string | null {
  if (!/^[a-z0-9][a-z0-9_-]{0,49}$/.test(name))
    return `has a gateway called "${name}": use a-z, 0-9, - and _`;
  if (name === 'main') return 'names main, which OPENCLAW_GATEWAY_URL stands for';
  if (!isRecord(entry)) return `says nothing about "${name}": it needs a url`;
  const unknown = Object.keys(entry).find((key) => !GATEWAY_FIELDS.includes(key));
  if (unknown !== undefined)
    return `has "${unknown}" for "${name}": only ${GATEWAY_FIELDS.join(', ')} are known`;
  const url = httpUrl.parse(String(entry['url']));
  if (!url.ok) return `has a url for "${name}" that ${url.problem}`;
  const texts = [entry['token'], entry['hookToken']].every(
    (each) => each === undefined || typeof each === 'string',
  );
  return texts ? null : `has a token for "${name}" that is not text`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return isJsonObject(value);
}
