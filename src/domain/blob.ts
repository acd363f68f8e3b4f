/** The record of an artifact; its bytes lie in a file of their own. */

export interface Blob {
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly sha256: string;
  readonly contentType: string;
  readonly jobNo: number | null;
  readonly createdAt: number;
  readonly createdBy: string;
}
