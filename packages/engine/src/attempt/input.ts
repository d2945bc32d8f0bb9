/** What one attempt is given and what it hands back. */
import type { Journal } from '@windlass/journal'
import type { Clock, Logger } from '@windlass/kit'
import type { Command, EngineClaimed, EngineEvent } from '@windlass/protocol'
import type { DebugLink } from '../debug/debugger.ts'
import type { Docker } from '../docker/docker.ts'

/** What to run: the answer of a claim without its token and certificate, so that a local run can make one. */
export type AttemptInput = Omit<EngineClaimed, 'token' | 'docker'> & {
  /** File of this machine with the token of a cloud role, which steps get a copy of. */
  readonly webIdentityFile?: string
}

/** A work tree of this machine that takes the place of the repository that the first git-clone step would fetch. */
export interface LocalSource {
  /** Absolute path of the folder; uncommitted changes and `.git` are included. */
  readonly path: string
  /** Folder name in the shared volume; the folder's own name when absent. */
  readonly name?: string
}

export interface AttemptOptions {
  readonly input: AttemptInput
  readonly docker: Docker
  readonly journal: Journal<EngineEvent>
  readonly clock: Clock
  readonly log: Logger
  /** Aborted when the process is asked to end: containers are stopped, and no outcome is reported. */
  readonly signal: AbortSignal
  /** Wishes from outside while the attempt runs, such as `terminate`; it may end at any time. */
  readonly commands: AsyncIterable<Command>
  /** How people reach the steps that the debugger holds. */
  readonly debug?: DebugLink | undefined
  /** How long a step is held when the debug run does not say; `DEBUG_TIMEOUT_MS` when absent. */
  readonly debugTimeoutMs?: number | undefined
  readonly source?: LocalSource | undefined
  /** Run these steps alone; leave these out. */
  readonly only?: readonly string[] | undefined
  readonly skip?: readonly string[] | undefined
  /** Repositories at `file://` URLs of the machine of the Docker daemon may be cloned. Default false. */
  readonly hostFiles?: boolean | undefined
  /** The image that clones, builds and keeps network namespaces; `TOOLS_IMAGE` when absent. */
  readonly toolsImage?: string | undefined
  /** Clean the disk of the daemon, where it is that of one of our pods; never a person's own Docker. Default false. */
  readonly clean?: boolean | undefined
  /** How long the daemon may take to have the tools image (it is loaded into an empty disk) before it is pulled. Default 0. */
  readonly toolsWaitMs?: number | undefined
}
