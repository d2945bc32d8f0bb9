/**
 * The automatic step `main_clone`. Codefresh adds it to the pipelines of older accounts, so many documents use the source without cloning it
 * (https://codefresh.io/docs/docs/pipelines/steps/git-clone/).
 */
import { SKIP_MAIN_CLONE, toFlag, type MainClone, type VariableLayer } from '@windlass/plan'
import type { Range } from '../syntax/source.ts'
import { child, textOf, type Entry, type MapNode, type ScalarNode, type TreeNode } from '../syntax/tree.ts'
import type { Draft } from './step-draft.ts'

export const MAIN_CLONE = 'main_clone'

export const CLONE_HINT =
  'Add a git-clone step named main_clone, or turn on the automatic clone of the pipeline (spec.mainClone.automatic). A local run takes a work tree with --source.'

/** Settings of a pipeline for its automatic clone. */
export interface MainCloneSettings {
  /** Default: the setting of the account. */
  readonly automatic?: boolean | undefined
  readonly repo?: string | undefined
  readonly git?: string | undefined
}

/** Returns the automatic clone that builds of a pipeline can have, for checks of its document. Undefined if it is turned off. */
export function possibleMainClone({ automatic, repo, git }: MainCloneSettings, byDefault: boolean): MainClone | undefined {
  if (!(automatic ?? byDefault)) return undefined
  return { repo: repo ?? '${{CF_REPO_OWNER}}/${{CF_REPO_NAME}}', ...(git !== undefined && { git }) }
}

/** Returns true if a variable turns the automatic clone off for a build. Values of secrets are not known. */
export function isMainCloneSkipped(layers: readonly VariableLayer[]): boolean {
  const set = layers.findLast(({ variables }) => Object.hasOwn(variables, SKIP_MAIN_CLONE))?.variables[SKIP_MAIN_CLONE]
  return set !== undefined && 'value' in set && toFlag(set.value) === true
}

/** Adds `main_clone` as the first step, unless a step has this name, or, with `unlessCloned`, clones a repository. */
export function addMainClone(root: Map<string, Entry>, clone: MainClone | undefined): void {
  const entry = root.get('steps')
  const steps = entry?.value
  if (entry === undefined || steps?.kind !== 'map' || clone === undefined) return
  if (someStep(steps, (key, step) => key === MAIN_CLONE || (clone.unlessCloned === true && isClone(step)))) return
  // The step has no position in the document, so problems of it are shown at the first step.
  const range = [...steps.entries.values()][0]?.keyRange ?? steps.range
  const main: Entry = { key: MAIN_CLONE, keyRange: range, value: toStep(clone, range) }
  root.set('steps', { ...entry, value: { ...steps, entries: new Map([[MAIN_CLONE, main], ...steps.entries]) } })
}

function toStep({ repo, revision, git }: MainClone, range: Range): MapNode {
  const entries = new Map<string, Entry>()
  for (const [key, value] of Object.entries({ title: 'Clone the repository', type: 'git-clone', repo, revision, git }))
    if (value !== undefined) entries.set(key, { key, keyRange: range, value: scalar(value, range) })
  return { kind: 'map', range, entries }
}

function scalar(value: string, range: Range): ScalarNode {
  return { kind: 'scalar', range, value, style: 'double', written: value }
}

/** Returns true if a step, or a step inside a parallel step, passes the test. */
function someStep(steps: TreeNode | undefined, test: (key: string, step: TreeNode) => boolean): boolean {
  if (steps?.kind === 'list') return steps.items.some((item) => test('', item) || someStep(item, test))
  if (steps?.kind !== 'map') return false
  return [...steps.entries.values()].some(({ key, value }) => test(key, value) || someStep(child(value, 'steps'), test))
}

function isClone(step: TreeNode): boolean {
  return /^git-clone(?::|$)/.test(textOf(child(step, 'type')) ?? '')
}

/**
 * Returns the first step that needs the source although no step before it can have put it on the shared volume: an image build, or a composition in a
 * file. Freestyle and typed steps can do so in their commands, services of a composition too, and a step without a known type can do anything.
 */
export function findWithoutSource(roots: readonly Draft[], mode: 'serial' | 'parallel'): Draft | undefined {
  const all = roots.flatMap(leaves)
  if (mode === 'parallel') return all.some(mayProvide) ? undefined : all.find(needsSource)
  const first = all.find((draft) => mayProvide(draft) || needsSource(draft))
  return first !== undefined && needsSource(first) ? first : undefined
}

function leaves(draft: Draft): Draft[] {
  return draft.children.length === 0 || draft.body.kind !== 'group' ? [draft] : draft.children.flatMap(leaves)
}

function mayProvide(draft: Draft): boolean {
  const { type, known } = draft
  return type === 'git-clone' || type === 'freestyle' || known === undefined || (type === 'composition' && !needsSource(draft))
}

function needsSource({ type, entries }: Draft): boolean {
  if (type === 'build')
    return readsMainClone(entries.get('working_directory')?.value) && !hasContent(entries.get('dockerfile')?.value)
  return type === 'composition' && entries.get('composition')?.value.kind === 'scalar'
}

/** Returns true for a Dockerfile that is written in the pipeline. It may not read the build context. */
function hasContent(dockerfile: TreeNode | undefined): boolean {
  return child(dockerfile, 'content') !== undefined
}

/** Returns true for a folder in the clone, which is also the default. */
function readsMainClone(directory: TreeNode | undefined): boolean {
  const text = textOf(directory)
  return text === undefined || text.includes(MAIN_CLONE) || !text.startsWith('/')
}
