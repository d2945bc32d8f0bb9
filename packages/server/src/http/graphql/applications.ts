/** Fields about reported applications that have a part in a runtime, and what of an application has its version. */
import { field, Pagination, toSlice, type Fields, type Slice } from '@windlass/graphql'
import { fault } from '@windlass/kit'
import { Application } from '@windlass/protocol'
import { z } from 'zod'
import { listApplicationNames, viewApplications } from '../../gitops/applications/show-applications.ts'
import { findTemplate } from '../../gitops/releases/find-template.ts'
import { applicationOf, errorsOf, given, metadataOf, statesOf } from './entities.ts'
import { listField, type PlatformCall } from './platform-call.ts'

interface Wanted {
  /** Absent: of all runtimes. */
  readonly runtime: string | undefined
  /** What the applications are for their runtimes: the label `codefresh.io/entity`. */
  readonly entity: string
  readonly pagination: z.output<typeof Pagination>
}

/** Returns a page of applications by name. Only those of the page are read: a runtime may have thousands. */
async function sliceOf(
  { app, requireRoute }: PlatformCall,
  { runtime, entity, pagination }: Wanted,
): Promise<Slice<Application>> {
  await requireRoute('GET /v1/applications')
  const names = await listApplicationNames(app, { runtime, entity })
  const { edges, pageInfo } = toSlice(names, ({ path }) => path, pagination)
  const shown = await viewApplications(
    app,
    edges.map(({ node }) => node.id),
  )
  // One that was deleted meanwhile is left out.
  const found = edges.flatMap(({ node: { id }, cursor }) => {
    const node = shown.get(id)
    return node === undefined ? [] : [{ node, cursor }]
  })
  return { edges: found, pageInfo }
}

function entityOf({ app }: PlatformCall, application: Application, kind: string): object {
  const { name, namespace, runtime, labels, createdAt } = application
  return {
    metadata: metadataOf(app, { kind, name, namespace, runtime, labels, createdAt }),
    errors: errorsOf(application),
    self: applicationOf(app, application),
    ...statesOf(application),
  }
}

const MetadataArguments = z.object({
  applicationMetadata: z.looseObject({
    runtime: z.string().max(100),
    namespace: z.string().max(253),
    name: z.string().max(253),
  }),
})

export const applicationQueries: Fields<PlatformCall> = {
  gitSources: listField(
    z.object({ runtime: z.string().nullish(), pagination: Pagination }),
    async ({ runtime, pagination }, call) => {
      const slice = await sliceOf(call, { runtime: given(runtime), entity: 'git-source', pagination })
      return { ...slice, edges: slice.edges.map(({ node, cursor }) => ({ cursor, node: entityOf(call, node, 'GitSource') })) }
    },
  ),
  components: listField(z.object({ runtime: z.string(), pagination: Pagination }), async ({ runtime, pagination }, call) => {
    const slice = await sliceOf(call, { runtime, entity: 'component', pagination })
    const edges = slice.edges.map(({ node, cursor }) => {
      const [source] = node.sources
      const version = source?.chart === undefined ? undefined : source.revision
      return { cursor, node: { ...entityOf(call, node, 'Component'), version } }
    })
    return { ...slice, edges }
  }),
  promotionTemplateByRuntime: field(MetadataArguments, async ({ applicationMetadata }, call: PlatformCall) => {
    const { runtime, namespace, name } = applicationMetadata
    const { app, actor, callRoute } = call
    const id = `${runtime}/${namespace}/${name}`
    // A runtime has no rights of users. It may ask for what it has reported itself.
    if (actor.kind === 'gitops-runtime' && actor.name !== runtime)
      throw fault('forbidden', { message: `The token is not one of the GitOps runtime "${runtime}".` })
    if (actor.kind !== 'gitops-runtime') await callRoute('GET /v1/applications/{id}', { params: { id }, answer: Application })
    const template = await findTemplate(app, id)
    return template === undefined ? null : { versionSource: template.versionSource }
  }),
}
