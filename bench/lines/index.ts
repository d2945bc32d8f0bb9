/** All lines of the bench, in the order of the goals. */
import type { Line } from '../row.ts'
import { cluster, clusterRow } from './cluster.ts'
import { commandStart } from './command-start.ts'
import { debugEcho } from './debug-echo.ts'
import { diskChoice } from './disk-choice.ts'
import { diskProvision } from './disk-provision.ts'
import { fakeBuilds } from './fake-builds.ts'
import { gitlabJobs } from './gitlab-jobs.ts'
import { hostileDocuments } from './hostile-documents.ts'
import { idleMemory } from './idle-memory.ts'
import { imageBuild } from './image-build.ts'
import { language } from './language.ts'
import { lineLatency } from './line-latency.ts'
import { localBuild } from './local-build.ts'
import { localSteps } from './local-steps.ts'
import { logFollow } from './log-follow.ts'
import { logMillion } from './log-million.ts'
import { logSearch } from './log-search.ts'
import { manyAttempts } from './many-attempts.ts'
import { manyBuilds } from './many-builds.ts'
import { masking } from './masking.ts'
import { podOrder } from './pod-order.ts'
import { secondBuild } from './second-build.ts'
import { starts } from './starts.ts'
import { taskHandover } from './task-handover.ts'
import { webBuilds } from './web-builds.ts'
import { webLog } from './web-log.ts'
import { webhooks } from './webhooks.ts'
import { warmPool } from './warm-pool.ts'

export const LINES: readonly Line[] = [
  commandStart,
  localBuild,
  localSteps,
  imageBuild,
  taskHandover,
  logMillion,
  logFollow,
  logSearch,
  webLog,
  webBuilds,
  lineLatency,
  debugEcho,
  language,
  masking,
  fakeBuilds,
  webhooks,
  idleMemory,
  hostileDocuments,
  cluster,
  clusterRow,
  starts,
  secondBuild,
  manyAttempts,
  manyBuilds,
  warmPool,
  diskChoice,
  diskProvision,
  podOrder,
  gitlabJobs,
]
