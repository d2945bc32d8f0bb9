/** Engines that run but have not called: the reason that their build shows, and when their attempt ends. */
import type { App } from '../../app.ts'
import { findAttempt } from '../../store/builds/attempts.ts'
import type { AttemptRow } from '../../store/schema/schema.ts'
import { findStartTask } from '../../store/runtimes/tasks.ts'
import { engineUrlOf } from '../../tasks/engine-url.ts'
import { namesOf } from '../../tasks/render.ts'
import type { BuildEdit, Cause } from '../lifecycle/edit.ts'
import { loseAttempt } from '../lifecycle/ends/end-attempt.ts'
import { noteWaiting } from '../schedule/waiting.ts'

/** Time without a call after which the build shows `engine-silent`. Engines normally call within a second of their start. Milliseconds. */
const NOTE_MS = 15_000

/** Returns whether the engine of an attempt has been silent for too long. Time in which this server was down or suspended does not count. */
export function judgeSilentEngine(
  attempt: AttemptRow,
  { app, now, judges }: { app: App; now: number; judges: boolean },
): 'silent' | 'never-called' | undefined {
  if (attempt.engine_since === null) return undefined
  const silence = now - Math.max(attempt.engine_since, app.hearing.since)
  // An agent of protocol v1 reports that the pod was created, not that it runs. Its image may still be pulled.
  if (judges && attempt.protocol === 2 && silence > app.timings.engineSilentMs) return 'never-called'
  return silence > NOTE_MS && attempt.waiting_reason === null ? 'silent' : undefined
}

/** Sets the reason of the build. `log` is the end of the pod's log. */
export async function noteSilentEngine(app: App, edit: BuildEdit, log = ''): Promise<void> {
  if (edit.attempt?.status !== 'created') return
  noteWaiting(edit, await describeSilence(app, edit, log))
}

/** Ends the attempt and retries it once, because another node may reach the server. */
export async function loseSilentEngine(app: App, edit: BuildEdit): Promise<void> {
  const { attempt, build, tx } = edit
  if (attempt === undefined) return
  const known = attempt.waiting_reason === 'engine-silent' ? attempt.waiting_message : null
  const cause = await describeSilence(app, edit, '')
  const before = attempt.number > 1 ? await findAttempt(tx.query, build.id, attempt.number - 1) : undefined
  await loseAttempt(edit, { ...cause, message: known ?? cause.message, retry: before?.reason !== 'engine-silent' })
}

async function describeSilence(app: App, { tx, attempt, build }: BuildEdit, log: string) {
  const task = attempt && (await findStartTask(tx.query, { id: build.id, attempt: attempt.number }))
  const url = task === undefined ? app.advertisedUrl() : await engineUrlOf(app, tx.query, task)
  const { engine, namespace } =
    task === undefined || attempt === undefined ? { engine: '', namespace: '' } : namesOf(app, task, attempt.pair_id)
  const what =
    attempt?.protocol === 1
      ? `The engine pod ${engine} was created but has not called ${url}. Its agent does not report whether it runs.`
      : `The engine pod ${engine} runs but has not called ${url}.`
  return {
    reason: 'engine-silent',
    message: log === '' ? what : `${what} Its log ends:\n${log}`,
    hint: `See \`kubectl -n ${namespace} logs ${engine}\`. Engines use the server address of their agent, unless the runtime environment sets \`runtimeScheduler.serverUrl\`.`,
  } as const satisfies Cause
}
