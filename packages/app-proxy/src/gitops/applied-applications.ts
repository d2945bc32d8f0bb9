/** How far Argo CD is with a commit in a Git source: whether the cluster has the application that it wrote, and whether that one is synced. */
import { isDeepStrictEqual } from 'node:util'
import { defined, isFault } from '@windlass/kit'
import {
  joinRepositoryUrl,
  problemOfRepositoryUrl,
  splitRepositoryUrl,
  type AppliedApplication,
  type AppliedQuery,
} from '@windlass/protocol'
import type { ArgoApi } from '../argo/api.ts'
import type { Applications } from '../argo/applications.ts'
import { isAutomatic, isBusy, revisionsOf, toRuntimeApplicationDetails, type ApplicationManifest } from '../argo/manifest.ts'
import type { RepositoryBranches } from './repository-branch.ts'
import type { GitopsCall } from './user-repositories.ts'

export interface AppliedApplications {
  /** Looks once. Asks the forge only if Argo CD has applied another commit. */
  look(call: GitopsCall, name: string, query: AppliedQuery): Promise<AppliedApplication>
}

export interface AppliedApplicationsOptions {
  readonly applications: Pick<Applications, 'find'>
  readonly branches: RepositoryBranches
  /** Undefined if the app-proxy does not know the server of Argo CD, which has the applications of other namespaces. */
  readonly argo: Pick<ArgoApi, 'application'> | undefined
  /** Of the runtime. */
  readonly namespace: string
}

export function openAppliedApplications({
  applications,
  branches,
  argo,
  namespace,
}: AppliedApplicationsOptions): AppliedApplications {
  /** Whether Argo CD has compared the cluster with the commit, or with one that came after it. */
  async function hasSeen(call: GitopsCall, { spec, status }: ApplicationManifest, revision: string): Promise<boolean> {
    const [seen] = revisionsOf(status?.sync ?? {})
    if (seen === undefined || seen === revision) return seen !== undefined
    const { repoURL = '' } = spec.source ?? {}
    if (problemOfRepositoryUrl(repoURL) !== undefined) return false
    const { clone } = splitRepositoryUrl(repoURL)
    const branch = await branches.open(call, joinRepositoryUrl({ clone, path: '', branch: undefined }))
    return branch.hasCommit(seen, revision)
  }

  /** Returns the application, or why it is not seen. Those of restricted Git sources are in other namespaces, which only the server of Argo CD reads. */
  async function findApp(
    name: string,
    place = namespace,
  ): Promise<{ readonly app?: ApplicationManifest; readonly why?: string }> {
    if (place === namespace) return defined({ app: await applications.find(name) })
    if (argo === undefined) return { why: `The runtime does not read the namespace "${place}".` }
    try {
      return { app: await argo.application(name, place) }
    } catch (error) {
      if (isFault(error, 'argo-cd-refused')) return { why: error.message }
      throw error
    }
  }

  return {
    async look(call, name, { gitSource, revision }) {
      const source = await applications.find(gitSource)
      if (source === undefined) return waiting(`The cluster has no application for the Git source "${gitSource}" yet.`)
      const isSeen = await hasSeen(call, source, revision)
      const state = source.status?.operationState
      const isTried = revisionsOf(state?.syncResult ?? {}).includes(revision)
      const entry = source.status?.resources.find((resource) => resource.kind === 'Application' && resource.name === name)
      const { app, why } = await findApp(name, entry?.namespace)
      if (!isSeen || entry?.status !== 'Synced' || app === undefined) {
        if (isTried && isFailed(state?.phase))
          return failed(`Argo CD could not apply the Git source "${gitSource}": ${state?.message ?? ''}`, app)
        if (isSeen && entry?.status === 'Synced' && why !== undefined)
          return waiting(`Argo CD has applied the commit, and does not show the application "${name}". ${why}`)
        return waiting(`Argo CD has not applied the commit of the Git source "${gitSource}" yet.${conditionsOf(source)}`, app)
      }
      return stateOf(app)
    },
  }
}

/** How far an application is whose object is that of the commit. */
function stateOf(app: ApplicationManifest): AppliedApplication {
  const { name } = app.metadata
  const { spec, status } = app
  const invalid = status?.conditions.find(({ type }) => type === 'InvalidSpecError')
  if (invalid !== undefined) return failed(`Argo CD refuses the application "${name}": ${invalid.message ?? ''}`, app)
  if (!isCompared(app))
    return waiting(`Argo CD has not compared the application "${name}" with its source yet.${conditionsOf(app)}`, app)
  const errors = conditionsOf(app)
  if (status?.sync?.status === 'Unknown' && errors !== '')
    return failed(`Argo CD cannot read the source of the application "${name}":${errors}`, app)
  if (!isAutomatic(app))
    return { state: 'applied', reason: `The cluster has the application "${name}", which people sync.`, ...shown(app) }
  if (status?.sync?.status === 'Synced' && !isBusy(app))
    return { state: 'applied', reason: `The application "${name}" is synced.`, ...shown(app) }
  const state = status?.operationState
  const result = state?.syncResult
  // A sync of an earlier source may have failed.
  const isOfNow =
    isDeepStrictEqual(result?.source ?? undefined, spec.source ?? undefined) &&
    isDeepStrictEqual(result?.sources ?? [], spec.sources)
  const isOfRevision = isDeepStrictEqual(revisionsOf(result ?? {}), revisionsOf(status?.sync ?? {}))
  if (!isBusy(app) && isOfNow && isOfRevision && isFailed(state?.phase))
    return failed(`The sync of the application "${name}" has failed: ${state?.message ?? ''}`, app)
  return waiting(`Argo CD has not synced the application "${name}" yet.${conditionsOf(app)}`, app)
}

/** Whether the state is that of what the application says now. */
function isCompared({ spec, status }: ApplicationManifest): boolean {
  const compared = status?.sync?.comparedTo
  if (compared === undefined || compared === null) return false
  const { server, name, namespace } = spec.destination ?? {}
  const place = compared.destination
  const isSamePlace = place?.namespace === namespace && (server === undefined ? place?.name === name : place?.server === server)
  return (
    isSamePlace &&
    isDeepStrictEqual(compared.source ?? undefined, spec.source ?? undefined) &&
    isDeepStrictEqual(compared.sources, spec.sources)
  )
}

function isFailed(phase: string | undefined): boolean {
  return phase === 'Failed' || phase === 'Error'
}

function conditionsOf({ status }: ApplicationManifest): string {
  const errors = (status?.conditions ?? []).filter(({ type }) => type?.endsWith('Error') === true)
  return errors.map(({ message }) => ` ${message ?? ''}`).join('')
}

function shown(app: ApplicationManifest | undefined): Pick<AppliedApplication, 'application'> {
  return defined({ application: app && toRuntimeApplicationDetails(app) })
}

function waiting(reason: string, app?: ApplicationManifest): AppliedApplication {
  return { state: 'waiting', reason, ...shown(app) }
}

function failed(reason: string, app?: ApplicationManifest): AppliedApplication {
  return { state: 'failed', reason, ...shown(app) }
}
