/** The user: a person or bot that logs in with an email address and a password. Its name is who it is everywhere else. */

import { isTakenName } from './names.ts';

export interface User {
  readonly id: string;
  /** As it was written; two that differ in upper and lower case alone are the same. */
  readonly email: string;
  readonly emailKey: string;
  readonly fullName: string;
  readonly timezone: string;
  /** Under which it is a target, a holder, an agent and an author. It never changes, and nobody else ever has it. */
  readonly name: string;
  /** How its password is kept; the password itself is kept nowhere. */
  readonly passwordHash: string;
  /** What was handed out before counts no more. */
  readonly passwordAt: number;
  readonly admin: boolean;
  readonly worker: boolean;
  /** One that was removed stays known: its work names it. */
  readonly active: boolean;
  readonly createdAt: number;
  readonly lastLoginAt: number | null;
  /** Its last call as a worker, whatever it was about. */
  readonly lastActivityAt: number | null;
}

export interface UserDraft {
  readonly email: string;
  readonly password: string;
  readonly fullName: string;
  readonly timezone?: string;
  readonly admin?: boolean;
  readonly worker?: boolean;
}

/** What is not said stays as it is. */
export interface UserChange {
  readonly fullName?: string;
  readonly timezone?: string;
  readonly admin?: boolean;
  readonly worker?: boolean;
  readonly password?: string;
}

/** Something before and after one @, and nothing that could be taken for a second address. */
const EMAIL = /^[^\s@<>,;:"]{1,64}@[^\s@<>,;:"]{1,189}$/u;

export function isEmail(text: string): boolean {
  return EMAIL.test(text);
}

export function emailKeyOf(email: string): string {
  return email.normalize('NFC').toLowerCase();
}

const NAME_CHARS = 40;

/** A name for a new user that nobody has: from what people call it, else from its address. */
export function freshName(fullName: string, email: string, taken: ReadonlySet<string>): string {
  const base = slug(fullName) || slug(email.split('@')[0] ?? '') || 'user';
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`;
    if (!isTakenName(name) && !taken.has(name)) return name;
  }
}

function slug(text: string): string {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const joined = plain.replaceAll(/[^a-z0-9]+/g, '-').slice(0, NAME_CHARS);
  return joined.replaceAll(/^-+|-+$/g, '');
}
