/** A peer that cannot be run here. Its rows are left out, with this as the reason. */
export class Missing extends Error {}
