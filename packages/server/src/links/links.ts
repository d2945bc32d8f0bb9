/**
 * Links to the log of one build or the badge of one pipeline, for people without an account. A link is a random token of which only the hash is stored. It can
 * be deleted at any time, and the link of a build always has an end.
 */
import { defined, fault, newToken, parseToken, tokenMatches, type Token } from '@windlass/kit'
import type { Link, LinkCreated } from '@windlass/protocol'
import type { App } from '../app.ts'
import { noteDetail } from '../audit/call.ts'
import { nameOf, placesOf, requireRight, type Actor } from '../identity/actor.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { countLinks, deleteLink, findLink, insertLink, listLinks, type NamedLink } from '../store/access/links.ts'
import { findPipeline } from '../store/pipelines/pipelines.ts'
import { findBuild } from '../store/builds/builds.ts'
import type { SharedLinkRow } from '../store/schema/user-schema.ts'
import type { Within } from '../store/store.ts'
import { placeOf } from '../store/places.ts'

const DAY_MS = 86_400_000
/** Links of one build or pipeline. */
const MAX_LINKS = 100

interface Creation {
  readonly actor: Actor
  /** Default: no end. */
  readonly expiresInDays?: number | undefined
  readonly within?: Within<LinkCreated> | undefined
}

/** Creates a link to the status and log of a build. Throws `not-found`, and `conflict` if the build has too many links. */
export async function createBuildLink(app: App, buildId: string, creation: Creation): Promise<LinkCreated> {
  const build = requireFound(await findBuild(app.store.query, app.accountId, buildId), `build ${buildId}`)
  const { pipeline_id: pipelineId, project_id: projectId, pipeline, number } = build
  const target = { kind: 'build', build_id: build.id, pipeline_id: pipelineId, project_id: projectId } as const
  return create(app, creation, { target, names: { pipeline, number }, what: `the log of build ${number}` })
}

/** Creates a link to the badge of a pipeline. Throws like `createBuildLink`. */
export async function createBadgeLink(app: App, name: string, creation: Creation): Promise<LinkCreated> {
  const pipeline = requireFound(await findPipeline(app.store.query, app.accountId, name), `pipeline "${name}"`)
  const target = { kind: 'badge', build_id: null, pipeline_id: pipeline.id, project_id: pipeline.project_id } as const
  const names = { pipeline: pipeline.name, number: null }
  return create(app, creation, { target, names, what: `the badge of ${pipeline.name}` })
}

interface Target {
  readonly target: Pick<SharedLinkRow, 'kind' | 'build_id' | 'pipeline_id' | 'project_id'>
  readonly names: Pick<NamedLink, 'pipeline' | 'number'>
  readonly what: string
}

async function create(
  app: App,
  { actor, expiresInDays, within }: Creation,
  { target, names, what }: Target,
): Promise<LinkCreated> {
  const now = app.clock.now()
  const token = newToken(now)
  const row: SharedLinkRow = {
    ...target,
    id: token.id,
    account_id: app.accountId,
    hash: token.hash,
    created_by: nameOf(actor),
    created_at: now,
    expires_at: expiresInDays === undefined ? null : now + Math.round(expiresInDays * DAY_MS),
  }
  const link: LinkCreated = { ...toLink({ ...row, ...names }), url: urlOf(app, row, { token, pipeline: names.pipeline ?? '' }) }
  return app.store.write(async (tx) => {
    await within?.(tx, link)
    const of = target.build_id === null ? { pipeline_id: target.pipeline_id ?? '' } : { build_id: target.build_id }
    if ((await countLinks(tx.query, of)) >= MAX_LINKS)
      throw fault('conflict', {
        message: `There are already ${MAX_LINKS} links.`,
        hint: 'Delete some: `windlass delete link ID`.',
      })
    await insertLink(tx, row)
    noteDetail(`link to ${what}`)
    return link
  })
}

/** The secret of a build is in the fragment, which browsers do not send. That of a badge must be in the address, because pages show it as an image. */
function urlOf(app: App, row: SharedLinkRow, { token, pipeline }: { token: Token; pipeline: string }): string {
  const base = app.advertisedUrl()
  if (row.kind === 'badge') return `${base}/badges/${encodeURIComponent(pipeline)}.svg?token=${token.text}`
  return `${base}/shared#build=${row.build_id ?? ''}&link=${token.text}`
}

function toLink(row: NamedLink): Link {
  return {
    id: row.id,
    kind: row.kind,
    createdBy: row.created_by,
    createdAt: row.created_at,
    ...defined({
      buildId: row.build_id ?? undefined,
      buildNumber: row.number ?? undefined,
      pipeline: row.pipeline ?? undefined,
      expiresAt: row.expires_at ?? undefined,
    }),
  }
}

interface Page {
  readonly after: string | undefined
  readonly limit: number
}

/** Lists the links that the caller may delete. */
export async function listLinkPage(app: App, actor: Actor, page: Page): Promise<Link[]> {
  const filter = { accountId: app.accountId, places: placesOf(actor, 'share-builds'), now: app.clock.now(), ...page }
  return (await listLinks(app.store.query, filter)).map(toLink)
}

/** Deletes a link. Throws `not-found`, and `forbidden` without the right for what it shows. */
export async function removeLink(app: App, actor: Actor, id: string): Promise<void> {
  await app.store.write(async (tx) => {
    const row = requireFound(await findLink(tx.query, app.accountId, id), `link ${id}`)
    requireRight(actor, 'share-builds', placeOf(row))
    await deleteLink(tx, id)
    noteDetail(`link to ${row.kind === 'badge' ? 'a badge' : `the log of build ${row.build_id ?? ''}`}`)
  })
}

/** Returns the link of a secret. Undefined if it does not exist, has another secret or has ended. */
export async function openLink(app: App, text: string): Promise<SharedLinkRow | undefined> {
  const token = parseToken(text)
  const row = token && (await findLink(app.store.query, app.accountId, token.id))
  if (token === undefined || row === undefined || !tokenMatches(token.secret, row.hash)) return undefined
  return row.expires_at !== null && app.clock.now() >= row.expires_at ? undefined : row
}
