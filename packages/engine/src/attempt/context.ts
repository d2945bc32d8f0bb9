/** Types and helpers that the parts of a running attempt share. */
import type { Clock, Logger } from '@windlass/kit'
import { windlassImage, type ResolvedAction, type ResolvedStep } from '@windlass/plan'
import type { EngineEventBody } from '@windlass/protocol'
import type { ImageClaims } from '../clean/image-claims.ts'
import type { Docker } from '../docker/docker.ts'
import type { StepPhases } from '../run/step-phases.ts'
import type { UsageMeter } from '../containers/usage.ts'
import type { StepOutput } from '../output/step-output.ts'
import type { AttemptInput, LocalSource, RequestGitAccess, RequestIdToken } from './input.ts'
import type { Namespaces } from './namespaces.ts'
import type { AttemptObserver } from './observer.ts'
import type { StepImages } from './step-images.ts'
import type { Workspace } from './workspace.ts'
import type { ServiceNetwork } from './service-network.ts'

/** The image for cloning, building and holding network namespaces. */
export const TOOLS_IMAGE = windlassImage('tools')
/** BuildKit as a daemon, for builds that the builder in dockerd does not support. */
export const BUILDKIT_IMAGE = windlassImage('buildkit')
/** The image that signs images. */
export const COSIGN_IMAGE = windlassImage('cosign')
/** The image that deploys to Kubernetes. */
export const DEPLOY_IMAGE = windlassImage('deploy')

export interface AttemptContext {
  readonly input: AttemptInput
  readonly docker: Docker
  readonly clock: Clock
  readonly log: Logger
  readonly workspace: Workspace
  readonly namespaces: Namespaces
  readonly images: StepImages
  /** The images that the build needs, for the cleaner. */
  readonly claims: ImageClaims
  readonly toolsImage: string
  readonly source: LocalSource | undefined
  readonly hostFiles: boolean
  /** Absent without a server. */
  readonly requestIdToken: RequestIdToken | undefined
  /** Absent without a server. */
  readonly requestGitAccess: RequestGitAccess | undefined
  readonly observer?: AttemptObserver | undefined
  /** Emits an event other than a step state, such as a built image. */
  readonly emit: (event: EngineEventBody) => void
  /** Removals in the background. The end of the attempt waits for them. */
  readonly cleanups: Set<Promise<void>>
  /** Removals that wait for containers to exit. The end of the attempt kills those containers instead of waiting. */
  readonly deferredCleanups: Set<Promise<void>>
}

/** One try of a step, as passed to the runner of its kind. */
export interface StepRun<A extends ResolvedAction = ResolvedAction> {
  readonly context: AttemptContext
  readonly step: ResolvedStep
  readonly action: A
  readonly output: StepOutput
  /** Returns the members, such as `imageName`, of a step that has ended. */
  readonly membersOf: (step: string) => Readonly<Record<string, string>>
  /** Aborted with a `StepStop`: stop the containers and end. */
  readonly signal: AbortSignal
  /** Measures the resource usage of the step's containers. */
  readonly meter?: UsageMeter | undefined
  /** Notes the phases of the step. */
  readonly phases?: StepPhases | undefined
  /** How the containers of the step reach its services. Absent without services. */
  readonly serviceNetwork?: ServiceNetwork | undefined
}

/** Context for work on behalf of a step: its own, or that of its services. */
export type StepPart = Pick<StepRun, 'context' | 'output' | 'signal' | 'meter' | 'phases'> & {
  readonly step: Pick<ResolvedStep, 'name'>
}

/** Runs work in the background and logs its failure. */
export function addCleanup(context: Pick<AttemptContext, 'cleanups' | 'log'>, name: string, work: Promise<void>): void {
  keep(context.cleanups, context.log, { name, work })
}

/** Like `addCleanup`, for removals that wait for a container to exit. The end of the attempt kills the container instead. */
export function addDeferredCleanup(
  context: Pick<AttemptContext, 'deferredCleanups' | 'log'>,
  name: string,
  work: Promise<void>,
): void {
  keep(context.deferredCleanups, context.log, { name, work })
}

function keep(set: Set<Promise<void>>, log: Logger, { name, work }: { name: string; work: Promise<void> }): void {
  const cleanup = work.catch((error: unknown) => log.warn({ err: error, cleanup: name }, 'cleanup failed'))
  set.add(cleanup)
  void cleanup.then(() => set.delete(cleanup))
}
