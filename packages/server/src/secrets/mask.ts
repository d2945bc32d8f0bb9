/** Shown instead of a stored secret; sending it back keeps the stored value. */
export const MASK = '*****'
