/** One HTTP exchange, whatever carries it. */

export type RequestBody = string | Uint8Array | AsyncIterable<Uint8Array>;

export interface TransportRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
  readonly signal: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  header(name: string): string | null;
  /** All of the body. Read either this or `body`, once. */
  text(): Promise<string>;
  /** The body as it comes in. Leaving the loop early ends the exchange. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Rejects with a SpineConnectionError when no answer came, and with the signal's reason when it aborted. */
export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
  close?(): void;
}
