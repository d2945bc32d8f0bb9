/** Options of a local build. */
import type { DebugLink } from '@windlass/engine'
import type { Clock, Logger } from '@windlass/kit'
import type { DebugSettings } from '@windlass/protocol'
import type { ApprovalRules } from './approvals.ts'

export interface LocalBuildOptions {
  readonly source: { readonly text: string; readonly file: string }
  /** Path of the document. The repository of its folder provides the git variables, and the path names the volume. Default: the working folder. */
  readonly documentPath: string | undefined
  /** A work tree to use instead of the first git-clone. */
  readonly workTree?: string | undefined
  readonly branch?: string | undefined
  readonly revision?: string | undefined
  readonly variables: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, string>>
  readonly only: readonly string[]
  readonly skip: readonly string[]
  /** Folder with manifests of step types. Default: `.windlass/steps` next to the document, if it exists. */
  readonly stepTypes?: string | undefined
  /** Steps whose approvals are decided in advance. */
  readonly approve?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
  /** Asks the user about an approval; see `ApprovalRules`. */
  readonly ask?: ApprovalRules['ask']
  readonly noCache: boolean
  /** A debug run: its breakpoints in addition to those of the document, and the handler of held steps. */
  readonly debug?: { readonly settings: DebugSettings; readonly onHeld: NonNullable<DebugLink['onHeld']> } | undefined
  readonly resetVolume: boolean
  /** Maximum bytes of log per step. */
  readonly stepLogBytes?: number | undefined
  /** The user's environment, which the docker and git commands read. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Folder for the records and spools of running builds. */
  readonly stateDir: string
  readonly clock: Clock
  readonly log: Logger
  /** Aborted by the user. The running step is stopped and the build terminated. */
  readonly cancel: AbortSignal
}
