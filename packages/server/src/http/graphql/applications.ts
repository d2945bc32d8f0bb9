/** Fields about reported applications that have a part in a runtime, and what of an application has its version. */
import { field, Pagination, toSlice, type Fields } from '@windlass/graphql'
import { fault } from '@windlass/kit'
import { Application, page } from '@windlass/protocol'
import { z } from 'zod'
import { findTemplate } from '../../gitops/releases/find-template.ts'
import { applicationOf, errorsOf, given, metadataOf, statesOf } from './entities.ts'
import type { PlatformCall } from './platform-call.ts'

/** Label that says what an application is for its runtime. */
const ENTITY = 'codefresh.io/entity'
/** Pages of applications that are read for one field. A runtime has no more. */
const MAX_PAGES = 10
const PAGE = 500

/** Lists the reported applications with a label, of one runtime or of all. Throws `request-invalid` for too many. */
async function listWith(
  { callRoute }: PlatformCall,
  { runtime, entity }: { readonly runtime: string | undefined; readonly entity: string },
): Promise<Application[]> {
  const found: Application[] = []
  let cursor: string | undefined
  for (let pages = 1; pages <= MAX_PAGES; pages += 1) {
    const query = { limit: PAGE, sort: 'name', runtime, cursor }
    const { items, next } = await callRoute('GET /v1/applications', { query, answer: page(Application) })
    found.push(...items.filter(({ labels }) => labels?.[ENTITY] === entity))
    if (next === undefined) return found
    cursor = next
  }
  throw fault('request-invalid', { message: `There are more than ${MAX_PAGES * PAGE} applications.`, hint: 'Name a runtime.' })
}

const keyOf = ({ runtime, namespace, name }: Application): string => `${runtime}/${namespace}/${name}`

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
  gitSources: field(
    z.object({ runtime: z.string().nullish(), pagination: Pagination }),
    async ({ runtime, pagination }, call: PlatformCall) => {
      const slice = toSlice(await listWith(call, { runtime: given(runtime), entity: 'git-source' }), keyOf, pagination)
      return { ...slice, edges: slice.edges.map(({ node, cursor }) => ({ cursor, node: entityOf(call, node, 'GitSource') })) }
    },
  ),
  components: field(
    z.object({ runtime: z.string(), pagination: Pagination }),
    async ({ runtime, pagination }, call: PlatformCall) => {
      const slice = toSlice(await listWith(call, { runtime, entity: 'component' }), keyOf, pagination)
      const edges = slice.edges.map(({ node, cursor }) => {
        const [source] = node.sources
        const version = source?.chart === undefined ? undefined : source.revision
        return { cursor, node: { ...entityOf(call, node, 'Component'), version } }
      })
      return { ...slice, edges }
    },
  ),
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
