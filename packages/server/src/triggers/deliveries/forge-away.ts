/** Number of failures for which the database is not the cause, after which a delivery is given up. */
export const MAX_FAILURES = 10

/** The forge did not answer a question about an event. */
export class ForgeAway extends Error {}
