/** Every route of this door has two paths: as the world calls it, and as a proxy that strips the prefix does. */

import type { TSchema } from 'typebox';
import { Type } from '../../typebox.ts';
import type { Route } from '../../routes.ts';

const PREFIX = '/api/v1';

export function withShortPaths(routes: readonly Route[]): Route[] {
  return routes.flatMap((route) => [
    route,
    { ...route, path: route.path.slice(PREFIX.length), name: `${route.name}Short`, unlisted: true as const },
  ]);
}

export function enveloped(data: TSchema): TSchema {
  return Type.Object({ success: Type.Literal(true), data }, { additionalProperties: true });
}

export const Done = Type.Object({ success: Type.Literal(true), message: Type.String() });

export function done(message: string) {
  return { success: true, message } as const;
}

export function data(value: unknown) {
  return { success: true, data: value } as const;
}
