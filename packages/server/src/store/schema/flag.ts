/** A boolean of the database. */
export type Flag = 0 | 1
