/** Progress of installations, as their installers report it. */
import { fault, newId } from '@windlass/kit'
import { Installation, InstallationInput, type InstallationEventInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { present } from '../builds/view.ts'
import {
  deleteExcessInstallations,
  findInstallation,
  insertInstallation,
  listInstallations,
  lockInstallation,
  updateInstallation,
} from '../store/installations.ts'
import type { InstallationRow } from '../store/schema.ts'

/** Most installations that are kept, and most events of one. */
const KEPT = 500
const MAX_EVENTS = 200
const FINISHED = 'finished'

/** Begins to take the progress of an installation. */
export async function beginInstallation(app: App, input: InstallationInput): Promise<Installation> {
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
  await app.store.write(async (tx) => {
    await insertInstallation(tx, row)
    await deleteExcessInstallations(tx, app.accountId, KEPT)
  })
  return toInstallation(row)
}

/** Adds an event. An installation that failed goes on when its installer resumes it. Throws `not-found`, `conflict` for too many events. */
export async function addInstallationEvent(
  app: App,
  id: string,
  event: z.output<typeof InstallationEventInput>,
): Promise<Installation> {
  return app.store.write(async (tx) => {
    const row = await lockInstallation(tx, app.accountId, id)
    if (row === undefined) throw notFound(id)
    const { events } = toInstallation(row)
    if (events.length >= MAX_EVENTS) throw fault('conflict', { message: `The installation has ${MAX_EVENTS} events already.` })
    const now = app.clock.now()
    const isOver = event.event === FINISHED || event.status === 'failure'
    const changes = {
      events: JSON.stringify([...events, { ...event, at: now }]),
      status: isOver ? event.status : ('running' as const),
      updated_at: now,
    }
    await updateInstallation(tx, id, changes)
    return toInstallation({ ...row, ...changes })
  })
}

/** Throws `not-found`. */
export async function showInstallation(app: App, id: string): Promise<Installation> {
  const row = await findInstallation(app.store.query, app.accountId, id)
  if (row === undefined) throw notFound(id)
  return toInstallation(row)
}

/** Newest first. */
export async function listShownInstallations(app: App, limit: number): Promise<Installation[]> {
  return (await listInstallations(app.store.query, app.accountId, limit)).map(toInstallation)
}

function notFound(id: string): Error {
  return fault('not-found', { message: `There is no installation ${id}.` })
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
