/** Operations of Argo CD: what is written into the field `operation` of an application. The controller carries it out, and removes the field. */
import { defined, fault } from '@windlass/kit'
import type { RollbackInput, SyncInput } from '@windlass/protocol'
import { isAutomatic, isBusy, type ApplicationManifest } from './manifest.ts'

type Operation = Readonly<Record<string, unknown>>

/** Returns the operation of a sync. Throws `conflict` if the state of the application forbids it. */
export function syncOperation(app: ApplicationManifest, input: SyncInput, by: string): Operation {
  requireReady(app)
  const { spec, metadata } = app
  const { revision, prune, dryRun, options, resources, force, applyOnly, retry } = input
  const isMultiple = spec.sources.length > 0
  if (revision !== undefined && isMultiple)
    throw fault('request-invalid', {
      message: `The application "${metadata.name}" has several sources, so one revision does not say what to sync.`,
      hint: 'Sync it without a revision, or change the revisions of its sources in Git.',
    })
  if (revision !== undefined && revision !== (spec.source?.targetRevision ?? 'HEAD') && isAutomatic(app) && !dryRun)
    throw fault('conflict', {
      message: `Argo CD syncs the application "${metadata.name}" automatically to ${spec.source?.targetRevision ?? 'HEAD'}, and would undo a sync to ${revision}.`,
      hint: 'Change its revision in Git, or turn its automatic sync off first.',
    })
  return {
    sync: {
      ...(isMultiple ? { sources: spec.sources } : { source: spec.source }),
      ...defined({ revision: isMultiple ? undefined : (revision ?? spec.source?.targetRevision) }),
      prune,
      dryRun,
      syncOptions: mergeOptions(spec.syncPolicy?.syncOptions ?? [], options),
      syncStrategy: applyOnly ? { apply: { force } } : { hook: { force } },
      ...(resources.length > 0 && { resources: resources.map(toResource) }),
    },
    initiatedBy: { username: by },
    ...defined({ retry: retry === undefined ? (spec.syncPolicy?.retry ?? undefined) : toRetry(retry) }),
  }
}

/** Returns the operation of a rollback. Throws `conflict` for one that syncs automatically, and `not-found` for a deployment that its history does not have. */
export function rollbackOperation(app: ApplicationManifest, { id, prune, dryRun }: RollbackInput, by: string): Operation {
  requireReady(app)
  const { spec, metadata, status } = app
  if (isAutomatic(app))
    throw fault('conflict', {
      message: `Argo CD syncs the application "${metadata.name}" automatically, and would undo a rollback.`,
      hint: 'Turn its automatic sync off first, or revert the commit.',
    })
  const history = status?.history ?? []
  const found = id === undefined ? history.at(-2) : history.find((deployment) => deployment.id === id)
  if (found === undefined)
    throw fault('not-found', {
      message:
        id === undefined
          ? `The application "${metadata.name}" has no deployment before the last one.`
          : `The history of the application "${metadata.name}" has no deployment ${id}. ${rangeOf(history.map((deployment) => deployment.id))}`,
      hint: 'The history begins when an application is created, and has its last deployments.',
    })
  return {
    sync: {
      ...(found.sources.length > 0
        ? { sources: found.sources, revisions: found.revisions }
        : { source: found.source, revision: found.revision }),
      prune,
      dryRun,
      syncOptions: spec.syncPolicy?.syncOptions ?? [],
      syncStrategy: { apply: {} },
    },
    initiatedBy: { username: by },
  }
}

function rangeOf(ids: readonly number[]): string {
  return ids.length === 0 ? 'It is empty.' : `It has ${ids.join(', ')}.`
}

/** Throws `conflict` for an application that is busy or is being deleted. */
function requireReady(app: ApplicationManifest): void {
  const { name, deletionTimestamp } = app.metadata
  if (deletionTimestamp !== undefined) throw fault('conflict', { message: `The application "${name}" is being deleted.` })
  if (isBusy(app))
    throw fault('conflict', {
      message: `Another operation of the application "${name}" is in progress.`,
      hint: 'Wait until it ends, or end it with `windlass gitops app terminate RUNTIME NAME`.',
    })
}

/** Returns the options of an application with those of a call, which win by their names. */
function mergeOptions(own: readonly string[], given: readonly string[]): string[] {
  const nameOf = (option: string): string => option.split('=')[0] ?? ''
  const names = new Set(given.map(nameOf))
  return [...own.filter((option) => !names.has(nameOf(option))), ...given]
}

function toResource({ group, kind, namespace, name }: SyncInput['resources'][number]): object {
  return { group, kind, name, ...(namespace !== '' && { namespace }) }
}

function toRetry({ limit, duration, factor, maxDuration }: NonNullable<SyncInput['retry']>): object {
  return { limit, backoff: { duration, factor, maxDuration } }
}
