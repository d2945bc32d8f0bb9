/** The deployments of one application, as public clients read them to roll back. */
import { field, Pagination, toPlatformStatus, toSlice, type Fields } from '@windlass/graphql'
import { fault } from '@windlass/kit'
import { Application, page, ReportedDeployment } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { listApplicationNames } from '../../gitops/applications/show-applications.ts'
import { applicationMetadataOf, given, statesOf } from './entities.ts'
import type { PlatformCall } from './platform-call.ts'

const ReleaseArguments = z.object({
  filters: z
    .object({
      runtime: z.string().nullish(),
      name: z.string().nullish(),
      namespace: z.string().nullish(),
      historyId: z.int().nullish(),
      startDate: z.string().nullish(),
      endDate: z.string().nullish(),
    })
    .nullish(),
  pagination: Pagination,
  sort: z.object({ field: z.string(), order: z.enum(['asc', 'desc']) }).nullish(),
})
type Filters = NonNullable<z.output<typeof ReleaseArguments>['filters']>

export const releaseQueries: Fields<PlatformCall> = {
  gitopsReleases: field(ReleaseArguments, async ({ filters, pagination, sort }, call: PlatformCall) => {
    const application = await findNamed(call, filters ?? {})
    const { items } = await call.callRoute('GET /v1/applications/{id}/deployments', {
      params: { id: application.id },
      answer: page(ReportedDeployment),
    })
    const last = items[0]?.id
    const [from, to] = [timeOf('startDate', filters?.startDate) ?? 0, timeOf('endDate', filters?.endDate) ?? Infinity]
    const wanted = items.filter(({ id, at = 0 }) => at >= from && at <= to && id === (filters?.historyId ?? id))
    const ordered = sort?.order === 'asc' ? wanted.toReversed() : wanted
    const slice = toSlice(ordered, ({ id }) => String(id), pagination)
    const edges = slice.edges.map(({ node, cursor }) => ({
      cursor,
      node: toRelease(call.app, node, { application, isCurrent: node.id === last }),
    }))
    return { ...slice, edges }
  }),
}

/** Returns the application that filters name. Throws `request-invalid` if they name none or several, and `not-found`. */
async function findNamed({ app, callRoute, requireRoute }: PlatformCall, filters: Filters): Promise<Application> {
  const [runtime, namespace, name] = [given(filters.runtime), given(filters.namespace), given(filters.name)]
  if (runtime === undefined || name === undefined)
    throw fault('request-invalid', { message: 'The filters must have a runtime and a name.', hint: 'Name one application.' })
  const show = (id: string): Promise<Application> =>
    callRoute('GET /v1/applications/{id}', { params: { id }, answer: Application })
  if (namespace !== undefined) return show(`${runtime}/${namespace}/${name}`)
  await requireRoute('GET /v1/applications')
  const [found, ...more] = await listApplicationNames(app, { runtime, name })
  if (found === undefined)
    throw fault('not-found', { message: `The GitOps runtime "${runtime}" has not reported an application "${name}".` })
  if (more.length === 0) return show(found.id)
  throw fault('request-invalid', {
    message: `The GitOps runtime "${runtime}" has applications "${name}" in several namespaces.`,
    hint: 'Add the namespace to the filters.',
  })
}

interface Released {
  readonly application: Application
  readonly isCurrent: boolean
}

function toRelease(app: App, { id, revisions, health, at }: ReportedDeployment, { application, isCurrent }: Released): object {
  const { name, namespace, runtime } = application
  const revision = revisions.join('_')
  const states = isCurrent ? statesOf(application) : { syncStatus: 'UNKNOWN' }
  return {
    applicationMetadata: applicationMetadataOf(app, { name, namespace, runtime, createdAt: at }),
    historyId: id,
    argoHistoryId: id,
    syncOperationRevision: revision,
    current: isCurrent,
    application: { status: { ...states, revision, healthStatus: toPlatformStatus('health', health) } },
  }
}

/** Throws `request-invalid`. */
function timeOf(name: string, text: string | null | undefined): number | undefined {
  const value = given(text)
  if (value === undefined) return undefined
  const at = Date.parse(value)
  if (Number.isNaN(at)) throw fault('request-invalid', { message: `${name}: must be a time of RFC 3339.` })
  return at
}
