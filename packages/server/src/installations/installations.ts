/** Progress of installations, reported by their installers. */
import { fault, newId } from '@windlass/kit'
import { Installation, InstallationInput, type InstallationEventInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { present } from '../builds/lifecycle/view.ts'
import {
  deleteExcessInstallations,
  findInstallation,
  insertInstallation,
  listInstallations,
  lockInstallation,
  updateInstallation,
} from '../store/runtimes/installations.ts'
import type { InstallationRow } from '../store/schema/schema.ts'
import type { Within } from '../store/store.ts'

/** Maximum number of stored installations, and of events per installation. */
const MAX_INSTALLATIONS = 500
const MAX_EVENTS = 200
const FINISHED = 'finished'

/** Creates the record of an installation that starts. `within` runs in the same transaction. */
export async function beginInstallation(
  app: App,
  input: InstallationInput,
  within?: Within<Installation>,
): Promise<Installation> {
  const now = app.clock.now()
  const row: InstallationRow = {
    id: newId(now),
    account_id: app.accountId,
    name: input.name ?? null,
    options: JSON.stringify(input.options),
    status: 'running',
    events: '[]',
    created_at: now,
    updated_at: now,
  }
  const installation = toInstallation(row)
  await app.store.write(async (tx) => {
    await insertInstallation(tx, row)
    await deleteExcessInstallations(tx, app.accountId, MAX_INSTALLATIONS)
    await within?.(tx, installation)
  })
  return installation
}

/**
 * Adds an event. A failed installation runs again when its installer resumes it. `within` runs in the same transaction. Throws `not-found`,
 * `conflict` for too many events.
 */
export async function addInstallationEvent(
  app: App,
  id: string,
  event: z.output<typeof InstallationEventInput>,
  within?: Within<Installation>,
): Promise<Installation> {
  return app.store.write(async (tx) => {
    const row = await lockInstallation(tx, app.accountId, id)
    if (row === undefined) throw notFound(id)
    const { events } = toInstallation(row)
    if (events.length >= MAX_EVENTS) throw fault('conflict', { message: `The installation already has ${MAX_EVENTS} events.` })
    const now = app.clock.now()
    const isOver = event.event === FINISHED || event.status === 'failure'
    const changes = {
      events: JSON.stringify([...events, { ...event, at: now }]),
      status: isOver ? event.status : ('running' as const),
      updated_at: now,
    }
    await updateInstallation(tx, id, changes)
    const installation = toInstallation({ ...row, ...changes })
    await within?.(tx, installation)
    return installation
  })
}

/** Returns an installation. Throws `not-found`. */
export async function showInstallation(app: App, id: string): Promise<Installation> {
  const row = await findInstallation(app.store.query, app.accountId, id)
  if (row === undefined) throw notFound(id)
  return toInstallation(row)
}

/** Lists installations, newest first. */
export async function listShownInstallations(app: App, limit: number): Promise<Installation[]> {
  return (await listInstallations(app.store.query, app.accountId, limit)).map(toInstallation)
}

function notFound(id: string): Error {
  return fault('not-found', { message: `Installation ${id} does not exist.` })
}

function toInstallation(row: InstallationRow): Installation {
  return {
    id: row.id,
    options: InstallationInput.shape.options.parse(JSON.parse(row.options)),
    status: row.status,
    events: Installation.shape.events.parse(JSON.parse(row.events)),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...present({ name: row.name }),
  }
}
