/** What keeps an engine and the server in touch between events: heartbeats and commands. */
import { fault } from '@windlass/kit'
import { Command } from '@windlass/protocol'
import type { App } from '../app.ts'
import { findAttempt } from '../store/attempts.ts'
import { commandTopic, listCommands } from '../store/commands.ts'
import type { AttemptRow, CommandRow } from '../store/schema.ts'
import { editBuild, saveBuild } from './edit.ts'
import type { AttemptKey } from './engine-claim.ts'
import { hear } from './hear.ts'

/** Renews the lease of an attempt; answers its length. Throws `attempt-stale`. */
export async function heartbeat(app: App, key: AttemptKey): Promise<number> {
  await app.store.write(async (tx) => {
    const edit = await editBuild(tx, key.buildId, app.clock.now())
    if (edit === undefined || !hear(edit, key.attempt)) throw fault('attempt-stale')
    await saveBuild(edit)
  })
  return app.timings.deadMs
}

interface Wait {
  /** Number of the last command that the engine has. */
  readonly after: number
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Commands after the given one: at once when there are some, else when one comes or the time is over. Throws `attempt-stale`. */
export async function awaitCommands(app: App, key: AttemptKey, { after, waitMs, signal }: Wait): Promise<Command[]> {
  const until = app.clock.monotonic() + waitMs
  using watch = app.store.watch(commandTopic(key.buildId))
  for (;;) {
    await requireLive(app, key)
    const rows = await listCommands(app.store.query, { ...key, after })
    const rest = until - app.clock.monotonic()
    if (rows.length > 0 || rest <= 0 || signal.aborted) return rows.map(toCommand)
    await watch.next(Math.min(rest, app.store.pollMs), signal)
  }
}

/** Where the Docker daemon of an attempt listens: as soon as its agent has seen it, or undefined when the time is over. Throws `attempt-stale`. */
export async function awaitDockerHost(
  app: App,
  key: AttemptKey,
  { waitMs, signal }: Pick<Wait, 'waitMs' | 'signal'>,
): Promise<string | undefined> {
  const until = app.clock.monotonic() + waitMs
  using watch = app.store.watch(commandTopic(key.buildId))
  for (;;) {
    const { docker_host: host } = await requireLive(app, key)
    const rest = until - app.clock.monotonic()
    if (host !== null || rest <= 0 || signal.aborted) return host ?? undefined
    await watch.next(Math.min(rest, app.store.pollMs), signal)
  }
}

function toCommand({ id, type, at, data }: CommandRow): Command {
  const fields: unknown = JSON.parse(data)
  return Command.parse({ ...(typeof fields === 'object' ? fields : {}), id, type, at })
}

async function requireLive(app: App, key: AttemptKey): Promise<AttemptRow> {
  const attempt = await findAttempt(app.store.query, key.buildId, key.attempt)
  if (attempt === undefined || attempt.status === 'lost' || attempt.status === 'ended') throw fault('attempt-stale')
  return attempt
}
