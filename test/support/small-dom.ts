/** As much of a browser as a small page of ours needs: elements, their text, events and `fetch`. It lays out and paints nothing. */

import { runInNewContext } from 'node:vm';

type Listener = (event: { preventDefault(): void }) => void;

export class SmallElement {
  readonly tagName: string;
  readonly children: SmallElement[] = [];
  readonly attributes = new Map<string, string>();
  hidden = false;
  required = false;
  readonly #listeners = new Map<string, Listener[]>();
  #text = '';
  #value: string | null = null;
  #open = false;

  constructor(name: string) {
    this.tagName = name.toUpperCase();
  }

  get childElementCount(): number {
    return this.children.length;
  }

  get textContent(): string {
    return this.#text + this.children.map(({ textContent }) => textContent).join('');
  }

  set textContent(text: string) {
    this.children.length = 0;
    this.#text = text;
  }

  /** What is typed; of a text area at first what stands in it. */
  get value(): string {
    return this.#value ?? (this.tagName === 'TEXTAREA' ? this.textContent : '');
  }

  set value(value: string) {
    this.#value = value;
  }

  get open(): boolean {
    return this.#open;
  }

  set open(open: boolean) {
    this.#open = open;
    this.tell('toggle');
  }

  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
    if (name === 'hidden') this.hidden = true;
  }

  append(...nodes: readonly (SmallElement | string)[]): void {
    for (const node of nodes)
      if (typeof node === 'string') this.#text += node;
      else this.children.push(node);
  }

  addEventListener(kind: string, listener: Listener): void {
    this.#listeners.set(kind, [...(this.#listeners.get(kind) ?? []), listener]);
  }

  scrollIntoView(): void {}

  /** As if somebody did it: what a browser would do by itself must be prevented. */
  tell(kind: string): boolean {
    let isPrevented = false;
    const event = { preventDefault: () => void (isPrevented = true) };
    for (const listener of this.#listeners.get(kind) ?? []) listener(event);
    return isPrevented;
  }

  /** Itself and all below it. */
  all(): SmallElement[] {
    return [this, ...this.children.flatMap((child) => child.all())];
  }

  /** The first below it with this name of a tag. */
  first(name: string): SmallElement {
    for (const one of this.all()) if (one.tagName === name.toUpperCase()) return one;
    throw new Error(`there is no <${name}>`);
  }
}

export interface SmallPage {
  readonly byId: (id: string) => SmallElement | null;
}

/** Runs a page's script over the elements of its markup that have an id. */
export function openPage(at: URL, markup: string, script: string): SmallPage {
  const root = new SmallElement('body');
  for (const [, name = '', id = ''] of markup.matchAll(/<(\w+)[^>]* id="([^"]+)"/g)) {
    const element = new SmallElement(name);
    element.setAttribute('id', id);
    root.append(element);
  }
  const byId = (id: string): SmallElement | null =>
    root.all().find(({ attributes }) => attributes.get('id') === id) ?? null;
  const document = { createElement: (name: string) => new SmallElement(name), getElementById: byId };
  runInNewContext(script, {
    document,
    location: { hash: at.hash },
    fetch: (path: string, how?: RequestInit) => fetch(new URL(path, at), how),
    URLSearchParams,
  });
  return { byId };
}
