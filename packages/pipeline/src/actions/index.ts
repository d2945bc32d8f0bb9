/**
 * The step types of the language. Each is a file in this folder and a line in `STEP_TYPES`; validation, the JSON Schema for editors and the
 * reference page read this table.
 */
import type { Action, ActionKindName } from '@windlass/plan'
import type { BuiltInStepType } from '../language/step-type.ts'
import { build } from './build.ts'
import { compositionType, launchComposition } from './composition.ts'
import { deploy } from './deploy.ts'
import { integrationTest, simpleTravis, travis } from './facades.ts'
import { freestyle } from './freestyle.ts'
import { gitClone } from './git-clone.ts'
import { obtainIdToken } from './obtain-oidc-id-token.ts'
import { parallel } from './parallel.ts'
import { pendingApproval } from './pending-approval.ts'
import { pushTag, push } from './push.ts'

/** Kinds of actions that only the compiler generates. */
type GeneratedKind = 'annotate' | 'group'
/** Each other kind of action is the step type of the same name. */
type TypesOfKinds = { readonly [K in Exclude<ActionKindName, GeneratedKind>]: BuiltInStepType<Action<K>> }

/** The step types that this version supports, in the order of the reference page. */
export const STEP_TYPES = {
  freestyle,
  'git-clone': gitClone,
  build,
  push,
  'push-tag': pushTag,
  composition: compositionType,
  'launch-composition': launchComposition,
  deploy,
  travis,
  simple_travis: simpleTravis,
  'integration-test': integrationTest,
  parallel,
  'pending-approval': pendingApproval,
  'obtain-oidc-id-token': obtainIdToken,
} satisfies TypesOfKinds & Readonly<Record<string, BuiltInStepType>>

export type SupportedType = keyof typeof STEP_TYPES

/** Returns the definition of a type; undefined for typed steps. */
export function findType(type: string): BuiltInStepType | undefined {
  return Object.hasOwn(STEP_TYPES, type) ? STEP_TYPES[type as SupportedType] : undefined
}

/** Step types of the language that are not supported, with what to use instead. */
export const REFUSED_TYPES: Readonly<Record<string, string>> = {
  'freestyle-ssh': 'Use a freestyle step with an image that contains ssh, and put the key in a secret variable.',
  'github-action': 'Use a freestyle step with an image that contains the tools of the action, or a typed step.',
  services: 'Use the field "services" at the root of the document, or on the steps that need them.',
}
