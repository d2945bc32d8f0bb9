/**
 * The kinds of actions. A new kind is a file in this folder and a line in `ACTION_KINDS`; the types of this file, and with them the tables of the
 * engine (`engine/steps`) and of the language (`pipeline/actions`), follow from that line.
 */
import type { ActionKind } from './action-kind.ts'
import { annotate } from './annotate.ts'
import { build } from './build.ts'
import { composition } from './composition.ts'
import { deploy } from './deploy.ts'
import { freestyle } from './freestyle.ts'
import { gitClone } from './git-clone.ts'
import { group } from './group.ts'
import { launchComposition } from './launch-composition.ts'
import { obtainIdToken } from './obtain-oidc-id-token.ts'
import { pendingApproval } from './pending-approval.ts'
import { pushTag } from './push-tag.ts'
import { push } from './push.ts'

const ACTION_KINDS = {
  freestyle,
  'git-clone': gitClone,
  build,
  push,
  'push-tag': pushTag,
  composition,
  'launch-composition': launchComposition,
  deploy,
  'obtain-oidc-id-token': obtainIdToken,
  'pending-approval': pendingApproval,
  annotate,
  group,
}
type Kinds = typeof ACTION_KINDS

export type ActionKindName = keyof Kinds

export const ACTION_KIND_NAMES = Object.keys(ACTION_KINDS) as [ActionKindName, ...ActionKindName[]]
/** The action of a kind in a plan; of all kinds by default. */
export type Action<K extends ActionKindName = ActionKindName> = Parameters<Kinds[K]['resolve']>[0]
/** The action of a kind with its variables substituted; of all kinds by default. */
export type ResolvedAction<K extends ActionKindName = ActionKindName> = ReturnType<Kinds[K]['resolve']>

/** Returns the names of the kinds with this value of a fact. */
type KindsWith<Fact extends keyof ActionKind<Action>, Value> = {
  [K in ActionKindName]: Kinds[K] extends { readonly [F in Fact]: Value } ? K : never
}[ActionKindName]
/** Kinds that a runner of the engine carries out. */
export type RunnableKind = KindsWith<'performedBy', 'engine'>
/** Kinds whose container a debug run can hold instead of the step. */
export type OverridableKind = KindsWith<'canOverride', true>

/** Returns the kind of an action. */
export function kindOf<A extends Action>(action: A): ActionKind<A, ResolvedAction<A['kind']>> {
  // Each key of the table is the kind of its actions, which TypeScript checks here but cannot follow through the index.
  const kinds: { readonly [K in Action['kind']]: { readonly resolve: (...given: never) => { readonly kind: K } } } = ACTION_KINDS
  return kinds[action.kind] as unknown as ActionKind<A, ResolvedAction<A['kind']>>
}

/** Returns the kind of this name, or undefined if it does not exist. */
export function findActionKind(name: string): ActionKind<Action, ResolvedAction> | undefined {
  return Object.hasOwn(ACTION_KINDS, name)
    ? (ACTION_KINDS[name as ActionKindName] as unknown as ActionKind<Action, ResolvedAction>)
    : undefined
}

/** Returns true for an action that a runner of the engine carries out. */
export function isRunnable(action: ResolvedAction): action is ResolvedAction<RunnableKind> {
  return ACTION_KINDS[action.kind].performedBy === 'engine'
}
