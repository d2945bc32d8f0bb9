/** Step types for public clients. */
import { defined, fault, isFault } from '@windlass/kit'
import { parseStepTypeName } from '@windlass/pipeline'
import { Name, type StepTypeResource } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { listStepTypes, listVersions, putStepType, removeStepType, showStepType } from '../../../step-types/step-types.ts'
import { findStepType } from '../../../store/pipelines/step-types.ts'
import { done, ok, route, type Answer, type Route } from '../../route.ts'
import { Document, fillPage, Page, Range, sliceOf, Texts } from '../documents.ts'
import { StepTypeManifest, toStepTypeDocument, toText } from './pipeline-manifest.ts'
import { toPublicStepShape, toPublicStepType } from './public-step-type.ts'

const ByName = z.object({ name: Name })
const Flag = z.stringbool().optional()
const reads = { allow: 'see-pipelines', scope: 'pipeline:read' } as const
const writes = { allow: 'change-step-types', scope: 'pipeline:write' } as const

const Listing = Range.extend({ id: Texts, freeText: z.string().max(300).optional(), official: Flag, public: Flag, private: Flag })

/** Included step types are the official and public ones. */
function isWanted({ name, description, builtIn }: StepTypeResource, query: z.output<typeof Listing>): boolean {
  const { id, freeText, official, public: isPublic, private: isPrivate } = query
  const isNamed = id === undefined || [id].flat().some((part) => name.includes(part))
  const isFound = freeText === undefined || `${name} ${description}`.toLowerCase().includes(freeText.toLowerCase())
  const isShared = builtIn || (official !== true && isPublic !== true)
  return isNamed && isFound && isShared && !(isPrivate === true && builtIn)
}

export function publicStepTypeRoutes(app: App): Route[] {
  return [...readRoutes(app), ...writeRoutes(app)]
}

function readRoutes(app: App): Route[] {
  return [
    route('GET', '/api/step-types', {
      summary: 'List the latest version of each step type with its manifest, by name',
      ...reads,
      project: 'handler',
      query: Listing,
      readsDocument: true,
      replies: { 200: Page },
      async handle({ query }) {
        const all = (await listStepTypes(app, { after: undefined, limit: 100_000 })).filter((one) => isWanted(one, query))
        const docs = await fillPage(sliceOf(all, query), (one) => toListedStepType(app, one))
        return ok({ docs, count: all.length })
      },
    }),
    route('GET', '/api/step-types/{name}', {
      summary: 'Show a step type: the latest version, or the one in `name:version`',
      ...reads,
      project: 'handler',
      params: ByName,
      readsDocument: true,
      replies: { 200: Document },
      async handle({ params: { name } }) {
        const found = await showStepType(app, name).catch((error: unknown) => {
          // Clients look for the words `not find`.
          if (isFault(error, 'not-found')) throw fault('not-found', { message: `Could not find step type "${name}".` }, error)
          throw error
        })
        return ok(await toPublicStepType(app, found))
      },
    }),
    route('GET', '/api/step-types/{name}/versions', {
      summary: 'List the versions of a step type, latest first',
      ...reads,
      project: 'handler',
      params: ByName,
      replies: { 200: z.array(z.string()) },
      handle: async ({ params }) => ok((await listVersions(app, params.name)).map(({ version }) => version)),
    }),
  ]
}

/** Converts a step type of a list, which is read without its manifest. One whose manifest is too expensive has no fields. */
async function toListedStepType(app: App, listed: StepTypeResource): Promise<Record<string, unknown>> {
  const shown = listed.builtIn
    ? await showStepType(app, `${listed.name}:${listed.version}`)
    : { ...listed, ...defined({ manifest: (await findStepType(app.store.query, app.accountId, listed))?.manifest }) }
  return toPublicStepType(app, shown).catch((error: unknown) => {
    if (isFault(error, 'document-too-expensive')) return toPublicStepType(app, listed)
    throw error
  })
}

function writeRoutes(app: App): Route[] {
  const common = { ...writes, readsDocument: true, body: StepTypeManifest, replies: { 200: Document } } as const
  return [
    route('POST', '/api/step-types', {
      summary: 'Create a version of a step type from a manifest',
      ...common,
      async handle({ body, settle }) {
        const document = toStepTypeDocument(body)
        const answer = (stepType: StepTypeResource): Answer => ok(toPublicStepShape(stepType, document))
        const put = { manifest: toText(document), mustBeNew: true }
        return answer((await putStepType(app, put, (tx, stepType) => settle(tx, answer(stepType)))).stepType)
      },
    }),
    route('PUT', '/api/step-types/{name}', {
      summary: 'Create or replace a version of a step type by a manifest',
      ...common,
      params: ByName,
      async handle({ params: { name }, body }) {
        const { stepType } = await putStepType(app, { manifest: toText(toStepTypeDocument(body)), name, mustBeNew: false })
        return ok(await toPublicStepType(app, stepType))
      },
    }),
    route('DELETE', '/api/step-types/{name}', {
      summary: 'Delete a step type: the version in `name:version`, otherwise all versions of the account',
      ...writes,
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params: { name } }) {
        const { version } = parseStepTypeName(name)
        const versions = version === undefined ? (await listVersions(app, name)).filter(({ builtIn }) => !builtIn) : []
        if (version === undefined && versions.length === 0)
          throw fault('not-found', { message: `The account has no step type "${name}".` })
        const names = version === undefined ? versions.map((one) => `${name}:${one.version}`) : [name]
        for (const one of names) await removeStepType(app, one)
        return done
      },
    }),
  ]
}
