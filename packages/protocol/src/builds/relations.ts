/** Builds that belong to a build. */
import { z } from 'zod'
import { Build } from './builds.ts'

/** Maximum children and restarts in an answer. */
export const MAX_RELATED = 50

/** Answer of `GET /v1/builds/{id}/related`. Builds that the caller may not see are missing. */
export const RelatedBuilds = z.object({
  /** The build whose step started it. */
  parent: Build.optional(),
  /** The builds that its steps started, oldest first; at most 50. */
  children: z.array(Build),
  /** The build that it repeats, and the builds that repeat it, oldest first; at most 50. */
  restartOf: Build.optional(),
  restarts: z.array(Build),
  /** The builds of the same pipeline and branch before and after it. */
  previous: Build.optional(),
  next: Build.optional(),
  /** The last successful build of the branch before it, among the last 1,000 builds of the branch. */
  lastGreen: Build.optional(),
  /** With a failed build: the first failed one since the last successful one of the branch. */
  firstRed: Build.optional(),
  /** With `firstRed`: builds of the branch from it to this build, and their different commits. */
  red: z.object({ builds: z.int(), commits: z.int() }).optional(),
})
export type RelatedBuilds = z.infer<typeof RelatedBuilds>
