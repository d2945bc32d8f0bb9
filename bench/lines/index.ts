/** Every line of the bench, in the order of the goals. */
import type { Line } from '../row.ts'
import { fakeBuilds } from './fake-builds.ts'
import { taskHandover } from './task-handover.ts'

export const LINES: readonly Line[] = [taskHandover, fakeBuilds]
