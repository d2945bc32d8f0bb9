/** The builds of hooks: they are created once, in the transaction that notes their id in the release. */
import { isFault } from '@windlass/kit'
import { isRecord, parseJson } from '@windlass/kit/json'
import { BuildInput } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { createBuild } from '../../builds/create/create.ts'
import { requireSpace } from '../../builds/schedule/disk-space.ts'
import { listAnnotations } from '../../store/builds/annotations.ts'
import { findBuild } from '../../store/builds/builds.ts'
import { isTransient } from '../../store/database/transient.ts'
import { lockRelease, RELEASE_TOPIC, findRelease, updateRelease } from '../../store/runtimes/releases.ts'
import type { Tx } from '../../store/store.ts'
import { readRelease, type ReadRelease, type StoredBuild, type StoredRelease } from './stored-release.ts'
import type { SeenBuild } from './world.ts'

/** Annotation of a build with JSON that later hooks get. The name is that of public runtimes. */
const CONTEXT = 'PROMOTION_CONTEXT'

function buildsOf({ builds, steps }: StoredRelease): StoredBuild[] {
  return [...builds, ...steps.flatMap((step) => [...step.builds, ...step.promotions.flatMap((promotion) => promotion.builds)])]
}

/** Reads the builds that a release waits for. */
export async function readBuilds({ store, accountId }: App, state: StoredRelease): Promise<ReadonlyMap<string, SeenBuild>> {
  const found = new Map<string, SeenBuild>()
  for (const wanted of buildsOf(state)) {
    if (wanted.state !== 'running' || wanted.buildId === undefined) continue
    const build = await findBuild(store.query, accountId, wanted.buildId)
    const { buildId: id } = wanted
    // A build that was deleted cannot succeed anymore.
    if (build === undefined) found.set(id, { id, status: 'terminated', reason: undefined, context: {} })
    else
      found.set(id, {
        id,
        status: build.status,
        reason: build.reason ?? undefined,
        context: await readContext({ store, accountId }, id),
      })
  }
  return found
}

async function readContext(
  { store, accountId }: Pick<App, 'store' | 'accountId'>,
  buildId: string,
): Promise<SeenBuild['context']> {
  const on = { account_id: accountId, entity: 'build', entity_id: buildId, kind: 'annotation' } as const
  const row = (await listAnnotations(store.query, on)).find(({ name }) => name === CONTEXT)
  if (row === undefined) return {}
  // The annotation is a text with JSON, and the column has JSON of the text.
  const text = parseJson(row.value)
  const value = typeof text === 'string' ? parseJson(text) : undefined
  return isRecord(value) ? value : {}
}

/** The release has changed since it was read: another server may have created the build. */
class Changed extends Error {}

/** Creates the builds that a release wants and that do not exist yet. */
export async function startBuilds(app: App, releaseId: string): Promise<void> {
  for (;;) {
    const row = await findRelease(app.store.query, app.accountId, releaseId)
    const read = row && readRelease(row)
    const wanted = read && buildsOf(read.state).find(({ state, buildId }) => state === 'running' && buildId === undefined)
    // A release that was terminated meanwhile wants no builds anymore.
    if (read === undefined || wanted === undefined || read.row.ended_at !== null) return
    try {
      await startBuild(app, read, wanted)
    } catch (error) {
      if (error instanceof Changed) return
      throw error
    }
  }
}

async function startBuild(app: App, { row, state }: ReadRelease, wanted: StoredBuild): Promise<void> {
  async function note(tx: Tx, changes: Partial<StoredBuild>): Promise<void> {
    if ((await lockRelease(tx, app.accountId, row.id))?.state !== row.state) throw new Changed()
    Object.assign(wanted, changes)
    await updateRelease(tx, row.id, { state: JSON.stringify(state) })
    tx.wake(RELEASE_TOPIC)
  }
  try {
    await requireSpace(app)
    await createBuild(app, {
      request: BuildInput.parse({ pipeline: wanted.pipeline, variables: wanted.variables }),
      initiator: state.createdBy,
      trigger: { kind: 'release' },
      within: (tx, build) => note(tx, { buildId: build.id }),
    })
  } catch (error) {
    if (!isFault(error) || isTransient(error) || error.code === 'internal' || error.code === 'storage-full') throw error
    const message = `The pipeline "${wanted.pipeline}" of the hook ${wanted.hook} cannot be built. ${error.message}`
    await app.store.write((tx) => note(tx, { state: 'failed', message }))
  }
}
