/** What people without an account see of a build: by a link, or because its pipeline is public. */
import { fault } from '@windlass/kit'
import type { SharedBuild } from '@windlass/protocol'
import type { App } from '../app.ts'
import { toFullBuild } from '../builds/lifecycle/view.ts'
import { findPipeline } from '../store/pipelines/pipelines.ts'
import { findBuild } from '../store/builds/builds.ts'
import type { BuildRow } from '../store/schema/schema.ts'
import { isPublic } from './is-public.ts'
import { openLink } from './links.ts'

export interface Shown {
  readonly build: BuildRow
  /** End of the link; undefined for a public build. */
  readonly expiresAt: number | undefined
}

/**
 * Returns a build that the holder of a link may see, or any caller without a link if its pipeline is public. Throws `unauthenticated` for a link that is not
 * valid for this build, and `not-found` without a link for any other build.
 */
export async function requireShown(app: App, id: string, link: string | undefined): Promise<Shown> {
  const build = await findBuild(app.store.query, app.accountId, id)
  if (link !== undefined) {
    const row = await openLink(app, link)
    if (build !== undefined && row?.build_id === build.id) return { build, expiresAt: row.expires_at ?? undefined }
    throw fault('unauthenticated', {
      message: 'The link is not valid: it has expired or was deleted.',
      hint: 'Ask for another link.',
    })
  }
  const pipelineId = build?.pipeline_id ?? undefined
  const pipeline = pipelineId === undefined ? undefined : await findPipeline(app.store.query, app.accountId, pipelineId)
  if (build !== undefined && pipeline !== undefined && isPublic(pipeline)) return { build, expiresAt: undefined }
  throw fault('not-found', { message: `Build ${id} does not exist or is not public.`, hint: 'Open it with a link, or sign in.' })
}

/** Returns what is shown of a build. Messages, variables and annotations are not. */
export async function describeShared(app: App, { build, expiresAt }: Shown): Promise<SharedBuild> {
  const { id, number, pipeline, status, reason, branch, revision, createdAt, startedAt, finishedAt, steps } = await toFullBuild(
    app,
    build,
  )
  return {
    id,
    number,
    status,
    createdAt,
    steps: (steps ?? []).map(({ name, title, status: of }) => ({ name, title, status: of })),
    pipeline,
    reason,
    branch,
    revision,
    startedAt,
    finishedAt,
    expiresAt,
  }
}
