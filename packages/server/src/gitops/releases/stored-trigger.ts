/** What a product knows of the commits of one of its applications. */
import { backoffMs } from '@windlass/kit'
import { Id, type Application, type ErrandWork, type ReleaseTrigger } from '@windlass/protocol'
import { z } from 'zod'
import { problemOfSources } from './advance.ts'
import type { SeenErrand } from './world.ts'

export const StoredTrigger = z.object({
  /** The commit of the repository at which the folder of the application was looked at last. */
  revision: z.string(),
  /** The last commit of the folder about which was decided; empty until it is known. That first one starts no release. */
  commit: z.string(),
  /** The errand whose result it waits for. */
  errand: Id.optional(),
  /** A newer commit of the folder. */
  next: z.object({ commit: z.string(), message: z.string() }).optional(),
  /** Why there is no release of the newer commit yet, or why it is not known. */
  why: z.string().optional(),
})
export type StoredTrigger = z.output<typeof StoredTrigger>

export const NEW_TRIGGER: StoredTrigger = { revision: '', commit: '' }

/** Longest first line of a message that is shown. Characters. */
const MAX_TITLE = 200

/** Returns the newer commit of an application as callers see it; undefined without one. */
export function nextOf(application: string, { next }: StoredTrigger): ReleaseTrigger | undefined {
  if (next === undefined) return undefined
  const [title = ''] = next.message.split('\n')
  return { application, revision: next.commit, message: title.slice(0, MAX_TITLE) }
}

export interface TriggerView {
  /** RUNTIME/NAMESPACE/NAME. */
  readonly name: string
  readonly application: Application | undefined
  /** That of the trigger. */
  readonly errand: SeenErrand | undefined
  readonly now: number
  readonly newId: () => string
}

/** What is stored together with the new state. */
export interface TriggerEffects {
  readonly created?: { readonly id: string; readonly work: ErrandWork }
  readonly deleted?: string
  readonly postponed?: { readonly id: string; readonly dueAt: number }
}

/** Pauses between two tries to look at a folder. */
const RETRY = { baseMs: 2_000, maxMs: 300_000 }

/** Goes on with a trigger, which is changed: takes the answer to its question, and asks for the folder at a new commit of the repository. Pure apart from that. */
export function advanceTrigger(trigger: StoredTrigger, view: TriggerView): TriggerEffects {
  const { errand, now } = view
  if (trigger.errand === undefined) return ask(trigger, view)
  // It was deleted with its runtime.
  if (errand === undefined) return ask(forget(trigger), view)
  const { result, id, tries } = errand
  if (result === undefined) return {}
  if (result.kind !== 'last-change') {
    trigger.why = result.kind === 'failed' ? [result.message, result.hint ?? ''].join(' ').trimEnd() : undefined
    return { postponed: { id, dueAt: now + backoffMs(RETRY, tries) } }
  }
  takeCommit(trigger, result)
  return { ...ask(trigger, view), deleted: id }
}

function forget(trigger: StoredTrigger): StoredTrigger {
  return Object.assign(trigger, { errand: undefined, revision: '' })
}

function takeCommit(
  trigger: StoredTrigger,
  { revision, message }: { readonly revision: string; readonly message: string },
): void {
  trigger.errand = undefined
  trigger.why = undefined
  if (trigger.commit === '') trigger.commit = revision
  else trigger.next = revision === trigger.commit ? undefined : { commit: revision, message }
}

function ask(trigger: StoredTrigger, { name, application, newId }: TriggerView): TriggerEffects {
  const [revision] = application?.revisions ?? []
  if (revision === undefined || revision === trigger.revision) return {}
  const [place, ...more] = application?.sources ?? []
  const problem = problemOfSources(name, { place, more: more.length })
  if (problem !== undefined) {
    trigger.why = problem
    return {}
  }
  const id = newId()
  trigger.errand = id
  trigger.revision = revision
  const folder = { repo: place?.repo ?? '', path: place?.path ?? '', revision }
  return { created: { id, work: { kind: 'last-change', place: folder } } }
}
