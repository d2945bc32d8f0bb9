/**
 * Errands: what the app-proxy of a GitOps runtime or a Runner does in Git for releases and builds. It claims them with the token of the runtime, and reports each until the server has its result. An errand can be carried
 * out twice, by two app-proxies too: the second time changes nothing (docs/development/adr/0136-promotions.md).
 */
import { z } from 'zod'
import { Id } from '../base.ts'
import { COMMIT_STATES } from '../builds/builds.ts'
import { PROMOTION_ACTIONS } from './definitions.ts'
import { Pull } from './releases.ts'

/** Errands that an app-proxy gets at once. */
export const MAX_ERRANDS = 10

/** A folder of a repository at a branch, tag or commit. */
export const GitPlace = z.object({ repo: z.string(), path: z.string(), revision: z.string() })
export type GitPlace = z.infer<typeof GitPlace>

/** Copies values from one folder to another, in one commit or one pull request. */
const PromoteErrand = z.object({
  kind: z.literal('promote'),
  /** Identifies the change: a commit with it in its message is this one. */
  change: Id,
  source: GitPlace,
  /** `revision` is a branch. */
  target: GitPlace,
  versionSource: z.object({ file: z.string(), jsonPath: z.string() }).optional(),
  /** Values to copy by file. Without files all files of the folder are copied. */
  promotion: z.record(z.string(), z.object({ jsonPaths: z.array(z.string()) })),
  action: z.enum(PROMOTION_ACTIONS).exclude(['none']),
  title: z.string(),
  description: z.string(),
})
/** Looks at a pull request. */
const PullErrand = z.object({ kind: z.literal('pull'), repo: z.string(), number: z.int() })
/** Asks whether the history of a folder at a commit has another commit. */
const ContainsErrand = z.object({ kind: z.literal('contains'), place: GitPlace, commit: z.string() })
/** Asks for the last commit that changed a folder. */
const LastChangeErrand = z.object({ kind: z.literal('last-change'), place: GitPlace })

/** Sets the state of a build at a commit, with the Git token of the runtime itself. */
const StatusErrand = z.object({
  kind: z.literal('status'),
  /** Name of a Git integration of the app-proxy. */
  integration: z.string(),
  /** `owner/name`. */
  repo: z.string(),
  /** Full hash. */
  revision: z.string(),
  title: z.string(),
  /** Link to the build. */
  url: z.string(),
  state: z.enum(COMMIT_STATES),
  description: z.string(),
})

export const ErrandWork = z.discriminatedUnion('kind', [
  PromoteErrand,
  PullErrand,
  ContainsErrand,
  LastChangeErrand,
  StatusErrand,
])
export type ErrandWork = z.infer<typeof ErrandWork>
export type PromoteErrand = z.infer<typeof PromoteErrand>
export type PullErrand = z.infer<typeof PullErrand>
export type StatusErrand = z.infer<typeof StatusErrand>
export type ContainsErrand = z.infer<typeof ContainsErrand>
export type LastChangeErrand = z.infer<typeof LastChangeErrand>

export const Errand = z.object({
  id: Id,
  /** After this time another app-proxy may get it. Milliseconds. */
  leaseMs: z.int(),
  /** An app-proxy of an earlier version reports a kind that it does not know as failed. */
  work: z.looseObject({ kind: z.string() }),
})
export type Errand = z.infer<typeof Errand>

export const ErrandClaim = z.strictObject({
  room: z.int().min(1).max(MAX_ERRANDS),
  waitMs: z.int().min(0).max(60_000),
})
export type ErrandClaim = z.output<typeof ErrandClaim>

export const ErrandClaimAnswer = z.object({ errands: z.array(Errand) })

const Line = z.string().max(2_000)
export const ErrandResult = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('promote'),
    /** The commit of the branch, or the one of the pull request. */
    revision: z.string().max(64),
    isNew: z.boolean(),
    version: z.string().max(200).optional(),
    pull: Pull.extend({ url: Line }).optional(),
  }),
  /** `revision`: the commit that the branch got by the pull request. */
  z.object({ kind: z.literal('pull'), state: z.enum(['open', 'merged', 'closed']), revision: z.string().max(64).optional() }),
  z.object({ kind: z.literal('contains'), contains: z.boolean() }),
  z.object({ kind: z.literal('status') }),
  /** `message` can be cut. */
  z.object({ kind: z.literal('last-change'), revision: z.string().max(64), message: Line }),
  z.object({ kind: z.literal('failed'), code: z.string().max(100), message: Line, hint: Line.optional(), mayRetry: z.boolean() }),
])
export type ErrandResult = z.infer<typeof ErrandResult>

export const ErrandReport = z.strictObject({ result: ErrandResult })
export const ErrandAnswer = z.object({
  /** False if the server has a result already, or does not need one anymore. */
  isTaken: z.boolean(),
})
