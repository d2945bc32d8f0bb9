/**
 * Applications of the namespace of the runtime, read and changed as Kubernetes objects: the controller of Argo CD carries out what stands in them, so no server of Argo CD is needed,
 * and the rights of the app-proxy are those on one kind in one namespace.
 */
import { fault, isFault, type Clock } from '@windlass/kit'
import type { Kube, KubeObject, ObjectRef } from '@windlass/kube'
import type { CASCADES, RollbackInput, RuntimeApplication, RuntimeApplicationDetails, SyncInput } from '@windlass/protocol'
import { noteSubject } from '../audit/call.ts'
import {
  ApplicationManifest,
  isBusy,
  revisionsOf,
  toRuntimeApplication,
  toRuntimeApplicationDetails,
  type ApplicationManifest as Manifest,
} from './manifest.ts'
import { rollbackOperation, syncOperation } from './operations.ts'

/** Annotation that asks for a comparison. The controller removes it at the end of one. */
const REFRESH = 'argocd.argoproj.io/refresh'
/** Finalizers with which the controller deletes the objects of a deleted application, by the way it does. */
const FINALIZERS = {
  foreground: 'resources-finalizer.argocd.argoproj.io',
  background: 'resources-finalizer.argocd.argoproj.io/background',
} as const
/** How often a change is made again after the controller has changed the same application. */
const MAX_TRIES = 10
/** Time for a comparison. Milliseconds. */
const REFRESH_MS = 60_000
/** How often `untilCompared` looks: nobody waits for it, so it needs no watch. Milliseconds. */
const LOOK_MS = 1_000

/** What an operation needs of a call. */
export interface ApplicationCall {
  readonly caller: { readonly userName: string }
  readonly signal: AbortSignal
}

export interface Applications {
  /** Lists those of the namespace by name. */
  list(): Promise<readonly RuntimeApplication[]>
  /** Returns the object as the cluster has it; undefined if it does not exist. */
  find(name: string): Promise<Manifest | undefined>
  /** Throws `not-found`. */
  get(name: string): Promise<RuntimeApplicationDetails>
  /** Starts a sync in the name of the caller. Throws `not-found`, and `conflict` if the state of the application forbids it. */
  sync(call: ApplicationCall, name: string, input: SyncInput): Promise<RuntimeApplicationDetails>
  /** Starts a sync to an earlier deployment. Throws like `sync`, and `conflict` for an application that syncs automatically. */
  rollback(call: ApplicationCall, name: string, input: RollbackInput): Promise<RuntimeApplicationDetails>
  /** Ends the sync that runs. Throws `not-found`, and `conflict` if none runs. */
  terminate(name: string): Promise<RuntimeApplicationDetails>
  /** Compares the application with its source, and waits for the result. Throws `not-found`, and `argo-cd-unreachable` after a minute. */
  refresh(call: ApplicationCall, name: string, input: { readonly hard: boolean }): Promise<RuntimeApplicationDetails>
  /** Asks for a comparison without waiting for it. Returns false if the application does not exist. */
  askRefresh(name: string): Promise<boolean>
  /**
   * Waits until no comparison is asked for, and returns the revisions that were compared last. Throws `not-found`, and `argo-cd-unreachable` after a minute.
   */
  untilCompared(name: string, signal: AbortSignal): Promise<readonly string[]>
  /** Deletes the application. The controller deletes its objects, unless they are to stay. Throws `not-found`. */
  remove(name: string, cascade: (typeof CASCADES)[number]): Promise<RuntimeApplicationDetails>
}

export interface ApplicationsOptions {
  readonly kube: Kube
  readonly namespace: string
  readonly clock: Clock
}

export function openApplications({ kube, namespace, clock }: ApplicationsOptions): Applications {
  const refTo = (name: string): ObjectRef => ({ kind: 'Application', namespace, name })

  async function find(name: string): Promise<Manifest | undefined> {
    const found = await kube.find(refTo(name))
    return found === undefined ? undefined : parse(found)
  }

  async function load(name: string): Promise<Manifest> {
    const found = await find(name)
    if (found !== undefined) return found
    throw notFound(name)
  }

  /** Changes an application by what `plan` makes of it. Starts again if the controller has changed it meanwhile. */
  async function change(name: string, plan: (app: Manifest) => Record<string, unknown>): Promise<Manifest> {
    for (let tries = 1; ; tries += 1) {
      const app = await load(name)
      const { metadata = {}, ...rest } = plan(app)
      const { resourceVersion } = app.metadata
      try {
        return parse(await kube.patch(refTo(name), { ...rest, metadata: { ...(metadata as object), resourceVersion } }))
      } catch (error) {
        if (isFault(error, 'not-found')) throw notFound(name)
        if (tries >= MAX_TRIES || !isFault(error, 'conflict')) throw error
        await clock.sleep(20 * tries)
      }
    }
  }

  /** The operation before it ends with its state, which would be taken for that of the new one. */
  const start = (operation: object): Record<string, unknown> => ({ operation, status: { operationState: null } })

  /** Waits until an application is as wanted. Throws `argo-cd-unreachable` after a minute. */
  async function until(name: string, isDone: (app: Manifest) => boolean, signal: AbortSignal): Promise<Manifest> {
    const late = AbortSignal.timeout(REFRESH_MS)
    const selection = { kind: 'Application', namespace, fields: `metadata.name=${name}` } as const
    for await (const event of kube.watch(selection, { signal: AbortSignal.any([signal, late]) })) {
      if (event.type === 'gone') throw notFound(name)
      if (event.type === 'synced') continue
      const app = parse(event.object)
      if (isDone(app)) return app
    }
    signal.throwIfAborted()
    throw notCompared(name)
  }

  return {
    async list() {
      const found = await kube.list({ kind: 'Application', namespace })
      return found.map((object) => toRuntimeApplication(parse(object))).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    },
    find,
    get: async (name) => toRuntimeApplicationDetails(await load(name)),
    async sync({ caller }, name, input) {
      if (input.dryRun) noteSubject('dry run')
      const app = await change(name, (before) => start(syncOperation(before, input, caller.userName)))
      return toRuntimeApplicationDetails(app)
    },
    async rollback({ caller }, name, input) {
      noteSubject(`deployment ${input.id}${input.dryRun ? ', dry run' : ''}`)
      const app = await change(name, (before) => start(rollbackOperation(before, input, caller.userName)))
      return toRuntimeApplicationDetails(app)
    },
    async terminate(name) {
      const app = await change(name, (before) => {
        if (!isBusy(before)) throw fault('conflict', { message: `No operation of the application "${name}" is in progress.` })
        // One that the controller has not begun yet has no state that could end.
        const isBegun = before.status?.operationState !== undefined && before.status.operationState !== null
        return isBegun ? { status: { operationState: { phase: 'Terminating' } } } : { operation: null }
      })
      return toRuntimeApplicationDetails(app)
    },
    async refresh({ signal }, name, { hard }) {
      await change(name, () => ({ metadata: { annotations: { [REFRESH]: hard ? 'hard' : 'normal' } } }))
      return toRuntimeApplicationDetails(await until(name, isCompared, signal))
    },
    async askRefresh(name) {
      try {
        await kube.patch(refTo(name), { metadata: { annotations: { [REFRESH]: 'normal' } } })
        return true
      } catch (error) {
        if (isFault(error, 'not-found')) return false
        throw error
      }
    },
    async untilCompared(name, signal) {
      for (const last = clock.now() + REFRESH_MS; clock.now() < last; await clock.sleep(LOOK_MS, signal)) {
        const app = await load(name)
        if (isCompared(app)) return revisionsOf(app.status?.sync ?? {})
      }
      throw notCompared(name)
    },
    async remove(name, cascade) {
      const app = await change(name, ({ metadata }) => {
        const own: readonly string[] = Object.values(FINALIZERS)
        const others = metadata.finalizers.filter((finalizer) => !own.includes(finalizer))
        return { metadata: { finalizers: cascade === 'none' ? others : [...others, FINALIZERS[cascade]] } }
      })
      await kube.delete(refTo(name))
      return toRuntimeApplicationDetails(app)
    },
  }
}

function parse(object: KubeObject): Manifest {
  return ApplicationManifest.parse(object)
}

/** False while a comparison is asked for. */
function isCompared({ metadata }: Manifest): boolean {
  return metadata.annotations?.[REFRESH] === undefined
}

function notCompared(name: string): Error {
  return fault('argo-cd-unreachable', {
    message: `Argo CD has not compared the application "${name}" within ${REFRESH_MS / 1000} s.`,
    hint: 'Check that the application controller runs, and that it watches the namespace of the runtime.',
  })
}

function notFound(name: string): Error {
  return fault('not-found', {
    message: `The application "${name}" does not exist in the namespace of the runtime.`,
    hint: 'List them with `windlass gitops app list RUNTIME`.',
  })
}
