/** Where notices leave the house. */
export interface Channel {
  readonly name: string;
  /** Resolves when the other side has taken it; throws when it should be tried again. */
  send(notice: Notice): Promise<void>;
}

export interface Notice {
  /** The same for every try, so that the receiver can drop repeats. */
  readonly id: string;
  readonly kind: string;
  readonly body: string;
}
