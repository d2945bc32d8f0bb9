/** All lines of the bench, in the order of the goals. */
import type { Line } from '../row.ts'
import { cluster, clusterRow } from './cluster/cluster.ts'
import { commandStart } from './programs/command-start.ts'
import { debugEcho } from './engine/debug-echo.ts'
import { diskChoice } from './cluster/disk-choice.ts'
import { diskProvision } from './cluster/disk-provision.ts'
import { fakeBuilds } from './server/fake-builds.ts'
import { gitlabJobs } from './cluster/gitlab-jobs.ts'
import { gitopsApplications } from './server/gitops-applications.ts'
import { gitopsReporter } from './cluster/gitops-reporter.ts'
import { hostileDocuments } from './server/hostile-documents.ts'
import { idleMemory } from './programs/idle-memory.ts'
import { imageBuild } from './engine/image-build.ts'
import { language } from './programs/language.ts'
import { lineLatency } from './logs/line-latency.ts'
import { localBuild } from './engine/local-build.ts'
import { localSteps } from './engine/local-steps.ts'
import { logFollow } from './logs/log-follow.ts'
import { logMillion } from './logs/log-million.ts'
import { logSearch } from './logs/log-search.ts'
import { manyAttempts } from './server/many-attempts.ts'
import { manyBuilds } from './server/many-builds.ts'
import { masking } from './logs/masking.ts'
import { podOrder } from './cluster/pod-order.ts'
import { secondBuild } from './cluster/second-build.ts'
import { starts } from './cluster/starts.ts'
import { taskHandover } from './server/task-handover.ts'
import { tunnel } from './server/tunnel.ts'
import { webBuilds } from './server/web-builds.ts'
import { webLog } from './logs/web-log.ts'
import { webhooks } from './server/webhooks.ts'
import { warmPool } from './cluster/warm-pool.ts'

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
  tunnel,
  gitopsApplications,
  gitopsReporter,
]
