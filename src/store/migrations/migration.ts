/** One step of the schema, with both dialects side by side so that neither can move alone. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** An older program cannot work on a database that has this step. */
  readonly breaking: boolean;
  readonly sqlite: string;
  readonly postgres: string;
}
