/** A gateway that a server hands work to, as the servers of an installation tell each other. */
export interface ServedGateway {
  /** `gateway:<name>` */
  readonly target: string;
  readonly ready: boolean;
  /** Why it is not; null when nobody has looked yet. */
  readonly why: string | null;
}
