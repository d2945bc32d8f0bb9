/** The context in which steps are drafted. */
import type { FlagTemplate, Position, Scope } from '@windlass/plan'
import type { AccountContext } from '../context/account.ts'
import type { Report } from '../syntax/report.ts'
import type { StepNames } from './step-names.ts'
import type { ActionPlace } from '../language/step-type.ts'
import type { TypedContext } from '../typed/typed-context.ts'
import type { TreeNode, Entry, MapNode } from '../syntax/tree.ts'
import type { Draft } from './step-draft.ts'

/** Drafts steps. Hooks contain steps, and steps have hooks: this interface keeps their modules from importing each other. */
export interface Drafter {
  step(step: MapNode, named: DraftName, place: DraftPlace): Draft | undefined
  steps(written: TreeNode | undefined, place: DraftPlace): Draft[]
}

/** Data that is shared by all steps of a document. */
export interface Drafting extends ActionPlace {
  readonly drafter: Drafter
  readonly account: AccountContext
  readonly names: StepNames
  readonly stages: ReadonlySet<string>
  /** `v1` does not allow `registry`, `tags` and `disable_push` on build steps. */
  readonly buildVersion: 'v1' | 'v2'
  readonly mode: 'serial' | 'parallel'
  /** Variables that are known before a build starts; undefined if none is about to start. */
  readonly variables: Scope | undefined
  /** Name of the root services, if any. */
  readonly serviceNames: readonly string[]
  /** `spec.debug.steps`. */
  readonly breakpoints: ReadonlyMap<string, TreeNode>
  readonly typed: TypedContext
  /** Problems of the patterns of branches by their text, because a short one can be expensive to compile, and many steps can share it. */
  readonly patterns: Map<string, string | undefined>
}

/** Where steps are drafted. */
export interface DraftPlace {
  readonly drafting: Drafting
  readonly report: Report
  /** Path of the mapping that contains the steps, such as `steps`. */
  readonly path: string
  /** Prefix of step names; empty except inside hooks and typed steps. */
  readonly prefix: string
  readonly mode: 'serial' | 'parallel'
  readonly failFast: FlagTemplate
  readonly parent?: Draft | undefined
  readonly hookOf?: Draft | 'build' | undefined
  readonly locals?: Map<string, Draft> | undefined
  readonly position?: Position | undefined
  /** Names of the enclosing step types, outermost first. */
  readonly inside?: readonly string[] | undefined
}

export interface DraftName {
  readonly key: string
  readonly name: string
  readonly range: Entry['keyRange']
  readonly path: string
  readonly after: readonly string[]
  /** For the step at the top of a hook. */
  readonly hook?: Draft['hook'] | undefined
}
