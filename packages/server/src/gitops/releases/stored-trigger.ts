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
  /** True if a release has promoted the commit of the repository about which the errand asks. */
  isPromoted: z.literal(true).optional(),
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

/** Returns why the last commit of an application is not known; undefined if it is. */
export function whyUnseen({ errand, next, why }: StoredTrigger): string | undefined {
  // What is said of a commit that is known.
  if (next !== undefined) return undefined
  if (why !== undefined || errand === undefined) return why
  return 'The app-proxy of the runtime has not said yet which commit changed its folder last.'
}

export interface TriggerView {
  /** RUNTIME/NAMESPACE/NAME. */
  readonly name: string
  readonly application: Application | undefined
  /** That of the trigger. `work`: its question, as it is stored. */
  readonly errand: (SeenErrand & { readonly work: string }) | undefined
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
  const { result, id, tries, work } = errand
  if (result === undefined) return {}
  if (result.kind === 'last-change') {
    takeCommit(trigger, result)
    return { ...ask(trigger, view), deleted: id }
  }
  trigger.why = result.kind === 'failed' ? [result.message, result.hint ?? ''].join(' ').trimEnd() : undefined
  // A commit or a folder that is gone is never answered, and the application may follow another one by now.
  const question = questionOf(view)
  if (question === undefined || JSON.stringify(question.work) === work)
    return { postponed: { id, dueAt: now + backoffMs(RETRY, tries) } }
  return { ...ask(forget(trigger), view), deleted: id }
}

function forget(trigger: StoredTrigger): StoredTrigger {
  return Object.assign(trigger, { errand: undefined, revision: '' })
}

function takeCommit(
  trigger: StoredTrigger,
  { revision, message }: { readonly revision: string; readonly message: string },
): void {
  const isDecided = trigger.commit === '' || trigger.isPromoted === true
  if (isDecided) trigger.commit = revision
  trigger.next = revision === trigger.commit ? undefined : { commit: revision, message }
  Object.assign(trigger, { errand: undefined, isPromoted: undefined, why: undefined })
}

interface Question {
  readonly revision: string
  /** Undefined if there is a problem. */
  readonly work?: ErrandWork
  /** Why the folder cannot be asked for. */
  readonly problem?: string
}

/** Returns what is asked about an application as it is now; undefined if it was compared with no commit. */
function questionOf({ name, application }: TriggerView): Question | undefined {
  const [revision] = application?.revisions ?? []
  if (revision === undefined) return undefined
  const [place, ...more] = application?.sources ?? []
  const problem = problemOfSources(name, { place, more: more.length })
  if (problem !== undefined) return { revision, problem }
  return { revision, work: { kind: 'last-change', place: { repo: place?.repo ?? '', path: place?.path ?? '', revision } } }
}

function ask(trigger: StoredTrigger, view: TriggerView): TriggerEffects {
  const question = questionOf(view)
  if (question === undefined || question.revision === trigger.revision) return {}
  const { revision, work, problem } = question
  if (work === undefined) {
    trigger.why = problem
    return {}
  }
  const id = view.newId()
  Object.assign(trigger, { errand: id, revision, isPromoted: undefined })
  return { created: { id, work } }
}
