/** Drafts the hooks of steps and of the build, in all their forms. */
import type { FlagTemplate, HookMoment } from '@windlass/plan'
import { HOOK_MOMENTS } from '@windlass/plan'
import { checkFields } from '../language/check.ts'
import { HOOK_EXEC, HOOK_STEPS, NOT_IN_HOOKS } from '../language/control-fields.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import type { Draft, DraftBody } from './step-draft.ts'
import { stepEntries } from './step-entries.ts'
import type { Range } from '../syntax/source.ts'
import type { Entry, MapNode, TreeNode } from '../syntax/tree.ts'
import { child, textOf } from '../syntax/tree.ts'
import type { DraftPlace } from './drafting.ts'
import { addDraft } from './add-draft.ts'

/** Image of hooks that are a list of commands. */
export const HOOK_IMAGE = 'alpine'

/** Where a hook is drafted. */
interface HookPlace extends DraftPlace {
  readonly moment: HookMoment
  readonly range: Range
  readonly after: readonly string[]
  readonly hook?: Draft['hook'] | undefined
  /** Name of the draft. */
  readonly name: string
  readonly key: string
}

/** Drafts the hooks of a step, including the older `on_success`, `on_fail` and `on_finish` on the step itself. */
export function draftHooks(owner: Draft, place: DraftPlace): void {
  const { entries, report, path } = owner
  const hooks = entries.get('hooks')?.value
  if (place.hookOf !== undefined) return forbidInHook(owner)
  for (const moment of HOOK_MOMENTS) {
    const entry = hooks?.kind === 'map' ? hooks.entries.get(moment) : undefined
    if (entry !== undefined) add(owner, draftHook(entry, moment, { ...place, path: `${path}.hooks.${moment}`, hookOf: owner }))
    const old = moment === 'on_elected' ? undefined : entries.get(moment)
    if (old === undefined) continue
    if (hooks !== undefined) {
      report.error('conflict', old.keyRange, 'Either old "on_success/on_fail/on_finish" or new "hooks" should be used', {
        path: `${path}.${moment}`,
        hint: `Move it to "hooks.${moment}".`,
      })
    } else if (old.value.kind === 'map') {
      const at = hookPlace(moment, old.keyRange, { ...place, path: `${path}.${moment}`, hookOf: owner })
      add(owner, draftAnnotate(old.value.entries, at))
    }
  }
  if (owner.type === 'build' && (entries.has('metadata') || entries.has('annotations'))) draftOwnAnnotations(owner, place)
}

/** Drafts the hooks of the build. */
export function draftBuildHooks(hooks: TreeNode | undefined, place: DraftPlace): Draft[] {
  if (hooks?.kind !== 'map') return []
  return HOOK_MOMENTS.flatMap((moment) => {
    const entry = hooks.entries.get(moment)
    if (entry === undefined) return []
    return draftHook(entry, moment, { ...place, path: `${place.path}.${moment}`, hookOf: 'build' }) ?? []
  })
}

function add(owner: Draft, hook: Draft | undefined): void {
  if (hook !== undefined) owner.hooks.push(hook)
}

/** Drafts `metadata` and `annotations` of a build step, which apply to its image once it is built. */
function draftOwnAnnotations(owner: Draft, place: DraftPlace): void {
  const range = (owner.entries.get('metadata') ?? owner.entries.get('annotations'))?.keyRange ?? owner.range
  const own = hookPlace('on_success', range, { ...place, path: owner.path, hookOf: owner })
  const entries = new Map([...owner.entries].filter(([key]) => key === 'metadata' || key === 'annotations'))
  const name = `${owner.name}.annotations`
  add(
    owner,
    addDraft(
      { type: 'annotate', known: undefined, entries, body: { kind: 'annotate', ofBuild: true } },
      { ...own, name, key: 'annotations' },
      own,
    ),
  )
}

function forbidInHook({ entries, report, path }: Draft): void {
  for (const key of NOT_IN_HOOKS) {
    const entry = entries.get(key)
    if (entry === undefined) continue
    report.error('not-allowed', entry.keyRange, `"${key}" is not allowed inside a hook`, { path: `${path}.${key}` })
  }
}

function hookPlace(moment: HookMoment, range: Range, place: DraftPlace & { readonly hookOf: Draft | 'build' }): HookPlace {
  const { parent: _group, locals: _beside, ...rest } = place
  const owner = place.hookOf === 'build' ? undefined : place.hookOf
  const name = `${owner?.name ?? ''}.${moment}`
  return {
    ...rest,
    moment,
    range,
    name,
    key: moment,
    prefix: `${name}.`,
    mode: 'serial',
    failFast: true,
    after: [],
    hook: { moment, ...(owner !== undefined && { of: owner.name }) },
    locals: new Map(),
  }
}

function draftHook(
  entry: Entry,
  moment: HookMoment,
  place: DraftPlace & { readonly hookOf: Draft | 'build' },
): Draft | undefined {
  const inner = hookPlace(moment, entry.keyRange, place)
  const { value } = entry
  if (value.kind !== 'map') return draftBody(value, inner)
  const { entries } = value
  if (entries.has('annotation')) return reportSingular(entries, inner)
  const annotated = entries.has('metadata') || entries.has('annotations')
  if (!entries.has('exec') && !annotated) return draftBody(value, inner)
  if (!entries.has('exec') && (entries.has('type') || entries.has('image') || entries.has('steps')))
    return reportMixed(entries, inner)
  checkFields(entries, HOOK_EXEC, {
    spot: { key: moment, path: place.path },
    report: place.report,
    open: false,
    range: entry.keyRange,
  })
  const exec = entries.get('exec')
  if (exec === undefined) return draftAnnotate(entries, inner)
  const execPlace = { ...inner, path: `${inner.path}.exec`, range: exec.keyRange }
  if (!annotated) return draftBody(exec.value, execPlace)
  const body: DraftBody = { kind: 'group', mode: 'serial', made: 'hook' }
  const group = addDraft({ type: 'parallel', known: undefined, entries: new Map(), body }, inner, { ...inner, locals: undefined })
  if (group === undefined) return undefined
  const inside = { ...inner, parent: group, hook: undefined }
  const first = draftBody(exec.value, { ...execPlace, ...within(inside, 'exec'), path: execPlace.path, locals: new Map() })
  const second = draftAnnotate(entries, { ...within(inside, 'annotate'), after: first === undefined ? [] : [first.name] })
  group.children.push(...[first, second].filter((one) => one !== undefined))
  return group
}

/** Returns the place for a part of a hook. Steps in it are named like those of a hook without parts. */
function within(place: HookPlace, key: string): HookPlace {
  return { ...place, name: `${place.prefix}${key}`, key }
}

/** Reports annotations next to the fields of a step, which must be separated with `exec`. */
function reportMixed(entries: Entries, { report, path }: HookPlace): undefined {
  for (const key of ['metadata', 'annotations']) {
    const range = entries.get(key)?.keyRange
    if (range === undefined) continue
    report.error('conflict', range, `"${key}" is not allowed next to the fields of a step`, {
      path: `${path}.${key}`,
      hint: 'Move the step below "exec".',
    })
  }
}

function reportSingular(entries: Entries, { report, path }: HookPlace): undefined {
  const entry = entries.get('annotation')
  if (entry === undefined) return
  report.error('unknown-key', entry.keyRange, '"annotation" is not allowed. Did you mean "annotations"?', {
    path: `${path}.annotation`,
    suggestion: { from: 'annotation', to: 'annotations' },
  })
}

/** Drafts a hook body: commands, a step, or several steps. */
function draftBody(value: TreeNode, place: HookPlace): Draft | undefined {
  if (value.kind === 'list') return draftCommands(value, place)
  if (value.kind !== 'map') {
    place.report.error(
      'wrong-type',
      value.range,
      `"${place.path.split('.').at(-1) ?? place.moment}" must be a list of commands or an object`,
      { path: place.path },
    )
    return undefined
  }
  return value.entries.has('steps') && textOf(child(value, 'type')) !== 'parallel'
    ? draftSeveral(value, place)
    : place.drafting.drafter.step(value, place, place)
}

function draftCommands(commands: TreeNode & { kind: 'list' }, place: HookPlace): Draft | undefined {
  const image: TreeNode = { kind: 'scalar', range: commands.range, value: HOOK_IMAGE, style: 'plain', written: HOOK_IMAGE }
  const entries = new Map<string, Entry>([
    ['image', { key: 'image', keyRange: place.range, value: image }],
    ['commands', { key: 'commands', keyRange: place.range, value: commands }],
  ])
  return place.drafting.drafter.step({ kind: 'map', range: commands.range, entries }, place, place)
}

function draftSeveral(value: MapNode, place: HookPlace): Draft | undefined {
  const { report, path } = place
  const entries = stepEntries(value, undefined, { report, path })
  checkFields(entries, HOOK_STEPS, { spot: { key: place.moment, path }, report, open: false, range: place.range })
  const mode = read.text(entries, 'mode') === 'parallel' ? 'parallel' : 'serial'
  const flags = new Map([...entries].filter(([key]) => key === 'fail_fast' || key === 'strict_fail_fast'))
  const steps = entries.get('steps')
  const body: DraftBody = { kind: 'group', mode, made: 'hook' }
  const group = addDraft({ type: 'parallel', known: undefined, entries: flags, body }, place, { ...place, locals: undefined })
  if (group === undefined || steps === undefined) return group
  if (steps.value.kind !== 'map')
    report.error('wrong-type', steps.value.range, '"steps" must be an object', { path: `${path}.steps` })
  else if (steps.value.entries.size === 0)
    report.error('empty-value', steps.value.range, '"steps" must contain at least 1 entries', { path: `${path}.steps` })
  const failFast: FlagTemplate = read.flag(flags, 'fail_fast') ?? true
  const inside: DraftPlace = { ...place, path: `${path}.steps`, parent: group, mode, failFast, locals: new Map() }
  group.children.push(...place.drafting.drafter.steps(steps.value, inside))
  return group
}

function draftAnnotate(entries: Entries, place: HookPlace): Draft | undefined {
  const own = new Map([...entries].filter(([key]) => key === 'metadata' || key === 'annotations'))
  return addDraft({ type: 'annotate', known: undefined, entries: own, body: { kind: 'annotate', ofBuild: false } }, place, place)
}
