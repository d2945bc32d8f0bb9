/** Filters on files, for events that do not name the changed files: the forge is asked for them, if everything else lets the trigger build. */
import type { Change } from '@windlass/forges'
import type { GitTrigger, RuleResult } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { askAll, openAccess } from '../../forges/ask.ts'
import type { ForgeEvent } from '../../forges/event.ts'
import type { ForgeWebhook } from './accepts.ts'
import { judge } from './judge.ts'

/** The changed files; why all count as changed; or that the forge is away. */
export type AskedFiles = { readonly files: readonly string[] } | { readonly unknown: string } | { readonly away: string }

export interface Judged {
  readonly rules: RuleResult[]
  /** Set if the changed files matter and the forge is away. */
  readonly away?: string
}

/** Applies the rules of a trigger. `askFiles` is called only if its answer matters. */
export async function judgeEvent(
  trigger: GitTrigger,
  event: ForgeEvent,
  askFiles: (() => Promise<AskedFiles>) | undefined,
): Promise<Judged> {
  const rules = judge(trigger, event)
  const isWanted = event.files === 'unknown' && trigger.modifiedFilesGlob !== undefined && rules.every(({ holds }) => holds)
  if (!isWanted || askFiles === undefined) return { rules }
  const asked = await askFiles()
  if ('files' in asked) return { rules: judge(trigger, { ...event, files: asked.files }) }
  if ('unknown' in asked) return { rules: withText(rules, true, `All files count as changed. ${asked.unknown}`) }
  return { rules: withText(rules, false, asked.away), away: asked.away }
}

function withText(rules: readonly RuleResult[], holds: boolean, text: string): RuleResult[] {
  return rules.map((one) => (one.rule === 'modified-files' ? { ...one, holds, text } : one))
}

/** Asks the forge for the changed files of an event, with the token of the context of the webhook. */
export async function findFiles(
  app: App,
  { forge, context }: Pick<ForgeWebhook, 'forge'> & { readonly context: string },
  event: ForgeEvent,
): Promise<AskedFiles> {
  const access = await openAccess(app, { forge, context })
  if (access.problem !== undefined) return { unknown: access.problem }
  const listing = access.value.api.files(toChange(event))
  if (listing === undefined) return { unknown: 'The event names no commits that the forge can compare.' }
  const asked = await askAll(app, access.value, listing)
  if (asked.problem !== undefined) return asked.mayRetry ? { away: asked.problem } : { unknown: asked.problem }
  const { items, isWhole } = asked.value
  const isUsable = isWhole && items.length > 0
  return isUsable ? { files: [...new Set(items)] } : { unknown: 'The forge does not list all changes.' }
}

function toChange({ repo, base, revision, git }: ForgeEvent): Change {
  const number = git.pullRequest?.number
  return {
    repo,
    pull: number !== undefined && /^\d{1,15}$/.test(number) ? number : undefined,
    base: toHash(base),
    head: toHash(revision),
  }
}

function toHash(text: string | undefined): string | undefined {
  return text !== undefined && /^[0-9a-f]{7,64}$/.test(text) ? text : undefined
}
