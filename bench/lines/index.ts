/** Every line of the bench, in the order of the goals. */
import type { Line } from '../row.ts'
import { cluster } from './cluster.ts'
import { debugEcho } from './debug-echo.ts'
import { diskChoice } from './disk-choice.ts'
import { diskProvision } from './disk-provision.ts'
import { fakeBuilds } from './fake-builds.ts'
import { idleMemory } from './idle-memory.ts'
import { imageBuild } from './image-build.ts'
import { language } from './language.ts'
import { lineLatency } from './line-latency.ts'
import { localBuild } from './local-build.ts'
import { localSteps } from './local-steps.ts'
import { logMillion } from './log-million.ts'
import { manyAttempts } from './many-attempts.ts'
import { secondBuild } from './second-build.ts'
import { taskHandover } from './task-handover.ts'
import { warmPool } from './warm-pool.ts'

export const LINES: readonly Line[] = [
  localBuild,
  localSteps,
  imageBuild,
  taskHandover,
  logMillion,
  lineLatency,
  debugEcho,
  language,
  fakeBuilds,
  idleMemory,
  cluster,
  secondBuild,
  manyAttempts,
  warmPool,
  diskChoice,
  diskProvision,
]
