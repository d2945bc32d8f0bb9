/** Shown instead of a stored secret; sending it back keeps the stored value. */
export { MASK } from '@windlass/protocol'
