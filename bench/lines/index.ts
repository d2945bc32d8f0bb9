/** Every line of the bench, in the order of the goals. */
import type { Line } from '../row.ts'

export const LINES: readonly Line[] = []
