/** One HTTP exchange, whatever carries it. */

export type RequestBody = string | Uint8Array | AsyncIterable<Uint8Array>;

export interface TransportRequest {
  /** GET, POST and the like. */
  readonly method: string;
  /** The whole address. */
  readonly url: string;
  /** Their names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  /** What is sent. */
  readonly body?: RequestBody;
  /** Ends the request when it aborts. */
  readonly signal: AbortSignal;
}

export interface TransportResponse {
  /** The status of HTTP. */
  readonly status: number;
  /** One header; null when there is none. */
  header(name: string): string | null;
  /** All of the body. Read either this or `body`, once. */
  text(): Promise<string>;
  /** The body as it comes in. Leaving the loop early ends the exchange. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Rejects with a SpineConnectionError when no answer came, and with the signal's reason when it aborted. */
export interface Transport {
  /** Sends one request; rejects when no answer came. */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Closes what is kept open. */
  close?(): void;
}
