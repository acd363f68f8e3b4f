/** The type of a job: its name, its instructions and what its params must look like. */

export interface NewType {
  readonly name: string;
  readonly label: string;
  readonly sop: string | null;
  readonly paramsSchema: string | null;
  /** Keep what is there when the type exists already. */
  readonly onlyIfMissing: boolean;
}

/** A type that is named for the first time comes into being, so that nothing has to be set up before the first job. */
export function bareType(name: string): NewType {
  return { name, label: name, sop: null, paramsSchema: null, onlyIfMissing: true };
}

export interface JobType {
  readonly no: number;
  readonly name: string;
  readonly label: string;
  readonly sop: string | null;
  readonly paramsSchema: string | null;
  readonly active: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}
