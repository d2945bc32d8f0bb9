/** Calls between engine and server besides events: heartbeats and commands. */
import { fault } from '@windlass/kit'
import { Command, type Heartbeat } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { findAttemptStatus, isLiveAttempt, type AttemptKey } from '../../store/builds/attempts.ts'
import { readUntil } from '../../read-until.ts'
import { commandTopic, listCommands } from '../../store/builds/commands.ts'
import type { AttemptRow, CommandRow } from '../../store/schema/schema.ts'
import { editBuild, saveBuild } from '../lifecycle/edit.ts'
import { recordHeartbeat } from './record-heartbeat.ts'
import { noteSpooled } from './missing-log.ts'

/** Renews the lease of an attempt and stores how much log its engine has spooled. Returns the length of the lease in milliseconds. Throws `attempt-stale`. */
export async function heartbeat(app: App, key: AttemptKey, beat: Heartbeat = {}): Promise<number> {
  await app.store.write(async (tx) => {
    const edit = await editBuild(tx, key.buildId, app.clock.now())
    if (edit === undefined || !recordHeartbeat(edit, key.attempt)) throw fault('attempt-stale')
    noteSpooled(edit, beat)
    await saveBuild(edit)
  })
  return app.timings.deadMs
}

interface Wait {
  /** Number of the last command that the engine received. */
  readonly after: number
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Returns commands after `after`. Waits up to `waitMs` if there are none. Throws `attempt-stale`. */
export async function awaitCommands(app: App, key: AttemptKey, { after, waitMs, signal }: Wait): Promise<Command[]> {
  const rows = await readUntil(app, {
    topic: commandTopic(key.buildId),
    waitMs,
    signal,
    async read() {
      await requireLive(app, key)
      return listCommands(app.store.query, { ...key, after })
    },
    isDone: ({ length }) => length > 0,
  })
  return rows.map(toCommand)
}

/** Returns the address of the attempt's Docker daemon once its agent has reported it, or undefined after `waitMs`. Throws `attempt-stale`. */
export async function awaitDockerHost(
  app: App,
  key: AttemptKey,
  { waitMs, signal }: Pick<Wait, 'waitMs' | 'signal'>,
): Promise<string | undefined> {
  const { docker_host: host } = await readUntil(app, {
    topic: commandTopic(key.buildId),
    waitMs,
    signal,
    read: () => requireLive(app, key),
    isDone: (attempt) => attempt.docker_host !== null,
  })
  return host ?? undefined
}

function toCommand({ id, type, at, data }: CommandRow): Command {
  const fields: unknown = JSON.parse(data)
  return Command.parse({ ...(typeof fields === 'object' ? fields : {}), id, type, at })
}

async function requireLive(app: App, key: AttemptKey): Promise<Pick<AttemptRow, 'docker_host'>> {
  const attempt = await findAttemptStatus(app.store.query, key)
  if (attempt === undefined || !isLiveAttempt(attempt.status)) throw fault('attempt-stale')
  return attempt
}
