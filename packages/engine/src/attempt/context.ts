/** What the parts of a running attempt share. */
import type { Clock, Logger } from '@windlass/kit'
import type { ExportedVariable, Reason, ResolvedAction, ResolvedStep } from '@windlass/plan'
import type { EngineEventBody } from '@windlass/protocol'
import type { ImageClaims } from '../clean/image-claims.ts'
import type { Docker } from '../docker/docker.ts'
import type { UsageMeter } from '../steps/usage.ts'
import type { StepOutput } from '../output/step-output.ts'
import type { AttemptInput, LocalSource } from './input.ts'
import type { Namespaces } from './namespaces.ts'
import type { StepImages } from './step-images.ts'
import type { Workspace } from './workspace.ts'

/** The image that clones, builds and keeps network namespaces. */
export const TOOLS_IMAGE = 'windlass/tools:0.1.0'
/** BuildKit as a daemon, for builds that the builder inside dockerd cannot do. */
export const BUILDKIT_IMAGE = 'windlass/buildkit:0.1.0'
/** Signs images. */
export const COSIGN_IMAGE = 'windlass/cosign:0.1.0'
/** The image that deploys to Kubernetes. */
export const DEPLOY_IMAGE = 'windlass/deploy:0.1.0'

export const LABEL_BUILD = 'windlass.io/build'
export const LABEL_ATTEMPT = 'windlass.io/attempt'
export const LABEL_STEP = 'windlass.io/step'

/** Of environments that outlive their build: their name, when they go (epoch seconds), and which build made them. */
export const LABEL_ENVIRONMENT = 'windlass.io/environment'
export const LABEL_EXPIRES = 'windlass.io/expires'
export const LABEL_LAUNCHED_BY = 'windlass.io/launched-by'

export interface AttemptContext {
  readonly input: AttemptInput
  readonly docker: Docker
  readonly clock: Clock
  readonly log: Logger
  readonly workspace: Workspace
  readonly namespaces: Namespaces
  readonly images: StepImages
  /** Which images the build needs, for the cleaner. */
  readonly claims: ImageClaims
  readonly toolsImage: string
  readonly source: LocalSource | undefined
  readonly hostFiles: boolean
  /** Reports a fact beside the states of steps, such as an image that was built. */
  readonly tell: (event: EngineEventBody) => void
  /** Removals that nobody waits for until the attempt ends. */
  readonly chores: Set<Promise<void>>
  /** Chores that wait for containers to stop by themselves; the end of the attempt kills those and does not wait. */
  readonly patientChores: Set<Promise<void>>
}

/** One try of a step, as its kind sees it. */
export interface StepRun<A extends ResolvedAction = ResolvedAction> {
  readonly context: AttemptContext
  readonly step: ResolvedStep
  readonly action: A
  readonly output: StepOutput
  /** Members of a step that has ended, such as `imageName`. */
  readonly membersOf: (step: string) => Readonly<Record<string, string>>
  /** Aborted with a `StepStop`: stop what runs, and end. */
  readonly signal: AbortSignal
  /** Looks at what containers of the step use. */
  readonly meter?: UsageMeter | undefined
  /** How the containers of the step find its services; absent without services. */
  readonly reach?: Reach | undefined
}

/** Where a step's containers have to be, so that they find their services. */
export interface Reach {
  /** Networks on which services are known by name. */
  readonly networks: readonly string[]
  /** A namespace that services and step share: `container:<id>`. */
  readonly namespace?: string | undefined
}

/** What is done on behalf of a step: its own work, or that of its services. */
export type StepPart = Pick<StepRun, 'context' | 'output' | 'signal' | 'meter'> & { readonly step: Pick<ResolvedStep, 'name'> }

export interface StepOutcome {
  readonly status: 'success' | 'error' | 'terminated'
  readonly reason?: Reason | undefined
  readonly message?: string | undefined
  readonly hint?: string | undefined
  readonly exitCode?: number | undefined
  readonly members: Readonly<Record<string, string>>
  readonly exports: readonly ExportedVariable[]
  /** Of a part of a typed step: what its parts have written to `/meta` so far. */
  readonly outputs?: Readonly<Record<string, string>> | undefined
}

/** Why a step is made to stop; the reason of its abort signal. */
export class StepStop extends Error {
  readonly status: 'error' | 'terminated'
  readonly reason: Reason

  constructor(status: 'error' | 'terminated', reason: Reason, message: string) {
    super(message)
    this.name = 'StepStop'
    this.status = status
    this.reason = reason
  }
}

/** A step that cannot succeed, told from deep inside it; becomes its outcome. */
export class StepFailure extends Error {
  readonly reason: Reason
  readonly hint: string | undefined

  constructor(reason: Reason, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'StepFailure'
    this.reason = reason
    this.hint = options.hint
  }
}

/** Labels of everything that an attempt makes on the daemon. */
export function attemptLabels(input: AttemptInput, step?: string): Record<string, string> {
  return {
    [LABEL_BUILD]: input.buildId,
    [LABEL_ATTEMPT]: String(input.attempt),
    ...(step !== undefined && { [LABEL_STEP]: step }),
  }
}

/** Does something that nobody has to wait for; failures are logged. */
export function addChore(context: Pick<AttemptContext, 'chores' | 'log'>, name: string, work: Promise<void>): void {
  keep(context.chores, context.log, { name, work })
}

/** Like `addChore`, for removals that the end of the attempt does at once by killing what they wait for. */
export function addPatientChore(context: Pick<AttemptContext, 'patientChores' | 'log'>, name: string, work: Promise<void>): void {
  keep(context.patientChores, context.log, { name, work })
}

function keep(set: Set<Promise<void>>, log: Logger, { name, work }: { name: string; work: Promise<void> }): void {
  const chore = work.catch((error: unknown) => log.warn({ err: error, chore: name }, 'chore failed'))
  set.add(chore)
  void chore.then(() => set.delete(chore))
}
