/** Breakpoints, held steps, and the actions that users request on them. The engine holds steps; the server forwards requests to it. */
import { defined, fault } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import {
  DEBUG_PHASES,
  DebugInput,
  DebugSettings,
  type DebugAction,
  type DebugChange,
  type DebugPhase,
  type DebugState,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { editBuild, record, saveBuild, type BuildEdit } from '../builds/lifecycle/edit.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { findBuild, findBuildRequest } from '../store/builds/builds.ts'
import { insertCommand, listAllCommands } from '../store/builds/commands.ts'
import { listStepEvents } from '../store/builds/events.ts'
import type { BuildPlanRow } from '../store/schema/schema.ts'
import type { Query, Tx, Within } from '../store/store.ts'
import { listTerminals } from '../store/builds/terminals.ts'
import { readRequest } from '../builds/create/request.ts'
import { toRecord } from './record.ts'

export interface Held {
  readonly step: string
  readonly phase: DebugPhase
  /** Epoch milliseconds. */
  readonly since: number
}

/** Returns the breakpoints, held steps and terminals of a build. Throws `not-found`. */
export async function describeDebug(app: App, id: string, query: Query = app.store.query): Promise<DebugState> {
  const build = requireFound(await findBuild(query, app.accountId, id), `build ${id}`)
  const settings = await readDebugSettings(query, id)
  return {
    ...defined({ settings }),
    held: isFinalBuild(build.status) ? [] : await listHeld(query, id),
    terminals: (await listTerminals(query, id)).map(toRecord),
  }
}

/** Sets or clears the breakpoints of a build, also while it runs. `within` runs in the same transaction. Throws `not-found`, `build-final`. */
export async function changeDebug(
  app: App,
  id: string,
  { change, by }: { change: DebugChange; by: string },
  within?: Within<DebugState>,
): Promise<DebugState> {
  return app.store.write(async (tx) => {
    const edit = await editOpenBuild(app, await editBuild(tx, id, app.clock.now()), id)
    const off = change.off === true
    const settings = applyChange(await readDebugSettings(tx.query, id), change)
    const to = { build_id: id, attempt: edit.build.attempt, at: edit.now }
    await insertCommand(tx, to, { type: 'debug', ...(!off && { settings }) })
    record(edit, { type: 'debug.changed', data: { by, ...(!off && { settings }) } })
    await saveBuild(edit)
    return showChanged(app, tx, id, within)
  })
}

/** Returns the settings after a change: absent fields keep their values, and breakpoints are added. Pure. */
export function applyChange(before: DebugSettings | undefined, { off: _off, steps, ...fields }: DebugChange): DebugSettings {
  const { steps: had, ...others } = before ?? DebugInput.parse({})
  const all = new Map(Object.entries(had))
  for (const [step, phases] of Object.entries(steps ?? {})) all.set(step, [...new Set([...(all.get(step) ?? []), ...phases])])
  return { ...others, ...defined(fields), steps: Object.fromEntries(all) }
}

/** Forwards an action on a held step to the engine. `within` runs in the same transaction. Throws `not-found`, `build-final`, `not-held`. */
export async function actOnHeld(
  app: App,
  id: string,
  call: { step: string; action: DebugAction; by: string },
  within?: Within<DebugState>,
): Promise<DebugState> {
  const { step, action, by } = call
  return app.store.write(async (tx) => {
    const edit = await editOpenBuild(app, await editBuild(tx, id, app.clock.now()), id)
    await requireHeld(tx.query, id, step)
    await insertCommand(tx, { build_id: id, attempt: edit.build.attempt, at: edit.now }, { type: 'debug-continue', step, action })
    record(edit, { type: 'debug.asked', data: { step, action, by } })
    await saveBuild(edit)
    return showChanged(app, tx, id, within)
  })
}

async function showChanged(app: App, tx: Tx, id: string, within: Within<DebugState> | undefined): Promise<DebugState> {
  const state = await describeDebug(app, id, tx.query)
  await within?.(tx, state)
  return state
}

/** Returns the edit of a build of this account that has not ended. Throws `not-found`, `build-final`. */
export async function editOpenBuild(app: App, edit: BuildEdit | undefined, id: string): Promise<BuildEdit> {
  if (edit === undefined || edit.build.account_id !== app.accountId)
    throw fault('not-found', { message: `Build ${id} does not exist.` })
  if (isFinalBuild(edit.build.status))
    throw fault('build-final', { message: `The build has ended with status ${edit.build.status}.` })
  return edit
}

/** Returns the held step with this name, or the only held step. Throws `not-held`. */
export async function requireHeld(query: Query, buildId: string, step: string | undefined): Promise<Held> {
  const held = await listHeld(query, buildId)
  const found = step === undefined ? (held.length === 1 ? held[0] : undefined) : held.find((one) => one.step === step)
  if (found !== undefined) return found
  const names = held.map((one) => `"${one.step}"`).join(', ')
  throw fault('not-held', {
    message:
      held.length === 0
        ? 'The debugger does not hold any step of the build.'
        : step === undefined
          ? `Several steps are held: ${names}. Name one.`
          : `The debugger does not hold step "${step}". It holds ${names}.`,
  })
}

const Waiting = z.object({ step: z.string(), reason: z.string().optional(), phase: z.enum(DEBUG_PHASES).optional() })

/** Lists the held steps of the latest attempt from its events. */
export async function listHeld(query: Query, buildId: string): Promise<Held[]> {
  const held = new Map<string, Held>()
  for (const { type, at, data } of await listStepEvents(query, buildId)) {
    if (type === 'attempt.started') held.clear()
    const event = Waiting.safeParse(JSON.parse(data))
    if (!event.success) continue
    const { step, reason, phase } = event.data
    held.delete(step)
    if (type === 'step.waiting' && reason === 'debugger' && phase !== undefined) held.set(step, { step, phase, since: at })
  }
  return [...held.values()]
}

const Stored = z.object({ settings: DebugSettings.optional() })

/** Returns the current debug settings of a build; undefined if it is not debugged. Reads its request unless `known` has it. */
export async function readDebugSettings(
  query: Query,
  buildId: string,
  known?: Pick<BuildPlanRow, 'request'>,
): Promise<DebugSettings | undefined> {
  const changed = (await listAllCommands(query, buildId, 'debug')).at(-1)
  if (changed !== undefined) return Stored.parse(JSON.parse(changed.data)).settings
  const stored = known ?? (await findBuildRequest(query, buildId))
  const asked = stored === undefined ? undefined : readRequest(stored).debug
  return asked === undefined ? undefined : DebugInput.parse(asked)
}
