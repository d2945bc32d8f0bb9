/** What is shown in place of a stored secret; writing it back keeps what is stored. */
export const MASK = '*****'
