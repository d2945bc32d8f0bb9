/** An event of a forge, in the form that triggers are matched against. */
import type { EventName, GitFactsInput, NoBuildReason } from '@windlass/protocol'

export interface ForgeEvent {
  /** Names of events in triggers that it satisfies, the most specific first. */
  readonly names: readonly [EventName, ...EventName[]]
  /** `owner/name`. */
  readonly repo: string
  /** Branch or tag: the source branch of a pull request. Undefined if the forge does not name it. */
  readonly branch?: string | undefined
  readonly revision?: string | undefined
  /** Commit that the change is compared with: the one before a push, the target of a pull request. Undefined if there is none. */
  readonly base?: string | undefined
  /** Tells apart two events with the same names, branch and commit: the commit before a push, the id of a comment, the time of a change. */
  readonly occurrence: string
  /** Name of the user at the forge who caused it. */
  readonly sender?: string | undefined
  /** Changed files. `all`: there is nothing to compare with. `unknown`: the forge does not name them, or not all of them. */
  readonly files: readonly string[] | 'all' | 'unknown'
  readonly pullRequest?: PullRequest | undefined
  readonly comment?: Comment | undefined
  readonly git: GitFactsInput
}

export interface PullRequest {
  /** Undefined if the forge does not say whether its branch is in another repository. */
  readonly isFork: boolean | undefined
  /** Whether its author may write to the repository. Undefined if the forge does not say. */
  readonly authorMayWrite: boolean | undefined
}

export interface Comment {
  readonly text: string
  readonly author: string
  readonly authorMayWrite: boolean | undefined
}

/** A call of a webhook without an event that starts builds. */
export interface Ignored {
  readonly reason: Extract<NoBuildReason, 'event-unsupported' | 'payload-invalid'>
  readonly message: string
}

export type ReadEvent = ForgeEvent | Ignored

export function isIgnored(read: object): read is Ignored {
  return 'reason' in read
}

export function isEvent(read: ReadEvent): read is ForgeEvent {
  return !isIgnored(read)
}

/** A call for which no event exists. `what` is the name of the event at the forge. */
export function unsupported(what: string | undefined): Ignored {
  return { reason: 'event-unsupported', message: `The event "${what ?? ''}" starts no builds.` }
}

/** Headers by their name in lower case. */
export type Headers = Readonly<Record<string, string>>

/** The repository of an event, and its facts for the variables of the build. */
export interface EventRepo {
  readonly repo: string
  readonly facts: Pick<GitFactsInput, 'repoOwner' | 'repoName'>
}
