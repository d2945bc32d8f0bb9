/** The scope of a build: the meaning of names at one place of it. `scope.ts` builds it. */
import type { Scope } from './substitute.ts'

/** The running step that a scope is for. */
export interface ScopeStep {
  readonly name: string
  /** 1-based. */
  readonly try: number
  readonly maxAttempts: number
}

/** The meaning of `${{NAME}}` if NAME is a step: its image, its working directory, or (`text`) the one that fits its kind. */
export type Purpose = 'text' | 'image' | 'directory'

export interface BuildScope extends Scope {
  /** Returns the same scope for a field in which a step name means an image or a directory. */
  as(purpose: Purpose): Scope
  /** Returns true if `name` is a step here. */
  isStep(name: string): boolean
  /** Returns the full name of the step that `name` refers to here. */
  findStep(name: string): string | undefined
  /** True inside a typed step. */
  readonly isTyped: boolean
  /** Returns every variable with its references substituted, as the containers of steps get them. */
  environment(): Record<string, string>
  /** Returns this scope for a running step, with CF_STEP_NAME and similar variables. */
  within(step: ScopeStep): BuildScope
  /** Returns this scope with the `environment` of a step, which overrides everything else in that step. */
  with(own: Readonly<Record<string, string>>): BuildScope
}
