/** Where the state of a build is reported. It is stored with the build, so that its end and its repetitions are reported there, too. */
import { Forge, ProxyIntegration } from '@windlass/protocol'
import { z } from 'zod'

/** Longest description and title that all forges accept. */
export const MAX_TEXT = 140

export const CommitTarget = z.object({
  forge: Forge,
  /** Name of the Git context whose token is used. Absent with an app-proxy. */
  context: z.string().optional(),
  /** App-proxy that sets it. */
  appProxy: ProxyIntegration.optional(),
  repo: z.string(),
  revision: z.string(),
  title: z.string(),
  /** Link to the build. */
  url: z.string(),
  /** Build whose message is replaced: the first one of those that repeat each other. Absent for that one itself. */
  first: z.string().optional(),
})
export type CommitTarget = z.infer<typeof CommitTarget>
