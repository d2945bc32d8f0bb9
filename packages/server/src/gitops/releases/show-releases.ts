/** Releases as callers see them. */
import { defined, fault, isId } from '@windlass/kit'
import type { Product, Release, ReleaseQuery, ReleaseStep } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { findRelease, listReleases } from '../../store/runtimes/releases.ts'
import type { ReleaseRow } from '../../store/schema/schema.ts'
import { readRelease, type StoredBuild, type StoredPromotion, type StoredStep } from './stored-release.ts'

/** Returns a page of releases, newest first. */
export async function listReleasePage(
  { store, accountId }: App,
  { cursor, limit, product, status }: ReleaseQuery,
): Promise<{ readonly items: Release[]; readonly next?: string }> {
  const rows = await listReleases(store.query, { accountId, product, status, before: cursor, limit: limit + 1 })
  const shown = rows.slice(0, limit)
  return { items: shown.map(toRelease), ...defined({ next: rows.length > limit ? shown.at(-1)?.id : undefined }) }
}

/** Throws `not-found`. */
export async function showRelease({ store, accountId }: App, id: string): Promise<Release> {
  const row = isId(id) ? await findRelease(store.query, accountId, id) : undefined
  return row === undefined ? unknownRelease(id) : toRelease(row)
}

/** Throws `not-found`. */
export function unknownRelease(id: string): never {
  throw fault('not-found', {
    message: `The release "${id}" does not exist.`,
    hint: 'List them with `windlass get releases`.',
  })
}

export function toRelease(row: ReleaseRow): Release {
  const { id, product, number, status, created_at: createdAt } = row
  const { state } = readRelease(row)
  const { flow, from, createdBy, trigger, version, why } = state
  return {
    id,
    product,
    number,
    status,
    from,
    createdBy,
    createdAt,
    steps: state.steps.map(toStep),
    builds: state.builds.map(toBuild),
    ...defined({ flow, trigger, version, why, startedAt: row.started_at ?? undefined, endedAt: row.ended_at ?? undefined }),
  }
}

/** What a product shows of its last release. */
export function toSummary(row: ReleaseRow): NonNullable<Product['release']> {
  const { id, number, status, version, createdAt } = toRelease(row)
  return { id, number, status, createdAt, ...defined({ version }) }
}

function toStep({ environment, kind, dependsOn, state, why, promotions, builds }: StoredStep): ReleaseStep {
  return {
    environment,
    kind,
    dependsOn,
    state,
    promotions: promotions.map(toPromotion),
    builds: builds.map(toBuild),
    ...defined({ why }),
  }
}

function toPromotion(stored: StoredPromotion): ReleaseStep['promotions'][number] {
  const { application, from, state, action, revision, isNew, pull, why, changedAt } = stored
  return {
    application,
    from,
    state,
    action,
    changedAt,
    builds: stored.builds.map(toBuild),
    ...defined({ revision, isNew, pull, why }),
  }
}

function toBuild({ variables: _variables, ...build }: StoredBuild): Omit<StoredBuild, 'variables'> {
  return build
}
