/** Input and options of one attempt. */
import type { Journal } from '@windlass/journal'
import type { Clock, Logger } from '@windlass/kit'
import type { Command, EngineClaimed, EngineEvent, GitAccess } from '@windlass/protocol'
import type { Docker } from '../docker/docker.ts'
import type { DebugLink } from '../debug/link.ts'
import type { AttemptObserver } from './observer.ts'

/** What to run: the claim response without token and certificate, so that a local run can create it. */
export type AttemptInput = Omit<EngineClaimed, 'token' | 'docker'> & {
  /** Local file with the token of a cloud role. Steps get a copy of it. */
  readonly webIdentityFile?: string
}

/** A local work tree that replaces the repository of the first git-clone step. */
export interface LocalSource {
  /** Absolute path. Uncommitted changes and `.git` are included. */
  readonly path: string
  /** Folder name in the shared volume. Defaults to the name of the local folder. */
  readonly name?: string
}

/** Returns an ID token for an audience, by default for the server. Throws the fault of the server if it refuses, and the reason of the signal. */
export type RequestIdToken = (audience: string | undefined, signal: AbortSignal) => Promise<string>

/** Returns the access of a Git context from the server. Throws the fault of the server, and the reason of the signal. */
export type RequestGitAccess = (context: string, signal: AbortSignal) => Promise<GitAccess>

export interface AttemptOptions {
  readonly input: AttemptInput
  readonly docker: Docker
  readonly journal: Journal<EngineEvent>
  readonly clock: Clock
  readonly log: Logger
  /** Aborted when the process must end: containers are stopped and no outcome is reported. */
  readonly signal: AbortSignal
  /** Commands from the server or user, such as `terminate`. May end at any time. */
  readonly commands: AsyncIterable<Command>
  /** Connects users to the steps that the debugger holds. */
  readonly debug?: DebugLink | undefined
  /** Hold time of a step if the debug run has none. Default `DEBUG_TIMEOUT_MS`. */
  readonly debugTimeoutMs?: number | undefined
  /** Base URL of the server as seen by this engine. Absent without a server. */
  readonly serverUrl?: string | undefined
  /** Requests an ID token of the build from the server. Absent without a server. */
  readonly requestIdToken?: RequestIdToken | undefined
  /** Requests the access of a Git context whose password the server renews. Absent without a server. */
  readonly requestGitAccess?: RequestGitAccess | undefined
  readonly source?: LocalSource | undefined
  /** Takes what is measured. */
  readonly observer?: AttemptObserver | undefined
  /** Run only these steps; skip these. */
  readonly only?: readonly string[] | undefined
  readonly skip?: readonly string[] | undefined
  /** Allow cloning `file://` URLs from the machine of the Docker daemon. Default false. */
  readonly hostFiles?: boolean | undefined
  /** The image for cloning, building and holding network namespaces. Default `TOOLS_IMAGE`. */
  readonly toolsImage?: string | undefined
  /** Clean the disk of the daemon. Only for the daemons of our pods, never for a user's own Docker. Default false. */
  readonly clean?: boolean | undefined
  /** How long to wait for the tools image to be loaded onto an empty disk before pulling it. Milliseconds. Default 0. */
  readonly toolsWaitMs?: number | undefined
}
