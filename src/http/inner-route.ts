/** A route that is called from within another: with the rights, limits and checks that it has when it is called by itself. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { type Asked, checkRequest, handled, isOpenTo, loadOf } from './mount.ts';
import { type Call, type Route, textOf } from './routes.ts';

/** What the path, the query and the body say. */
export interface Given {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

export class InnerRoute {
  readonly route: Route;
  #check: ((asked: Asked) => SpineError | null) | undefined;

  constructor(route: Route) {
    this.route = route;
  }

  isOpenTo(actor: Actor): boolean {
    return isOpenTo(this.route, actor);
  }

  /** For whoever made the outer call, over whose connection the answer goes. */
  async call(outer: Call, given: Given): Promise<string> {
    const { actor, callers, parts, request } = outer;
    if (!this.isOpenTo(actor)) throw callers.refusal(request.raw, actor, this.route);
    const leave = parts.limits.enter(actor, loadOf(this.route), 0);
    if (leave instanceof SpineError) throw leave;
    try {
      const asked: Asked = { ...given, actor, url: '', raw: request.raw };
      // Few callers use all routes, and each has schemas to compile.
      this.#check ??= checkRequest(this.route, callers);
      const problem = this.#check(asked);
      if (problem) throw problem;
      const { params } = given;
      const call = { ...outer, params, query: asked.query, body: asked.body };
      return textOf(await handled(this.route, call));
    } finally {
      leave?.();
    }
  }
}
