/** What a release sees when it goes on, and what it asks for. */
import { ErrandResult, type Application, type ErrandWork } from '@windlass/protocol'
import type { ErrandRow } from '../../store/schema/schema.ts'
import type { PlacedRow } from '../products/placed.ts'

/** An errand of the release. */
export interface SeenErrand {
  readonly id: string
  readonly state: 'waiting' | 'taken' | 'done'
  readonly result: ErrandResult | undefined
  /** How often it was claimed. */
  readonly tries: number
  readonly dueAt: number
}

export function toSeen({ id, state, result, tries, due_at: dueAt }: ErrandRow): SeenErrand {
  return { id, state, tries, dueAt, result: result === null ? undefined : ErrandResult.parse(JSON.parse(result)) }
}

export interface NewErrand {
  readonly id: string
  readonly runtimeId: string
  readonly work: ErrandWork
  readonly dueAt: number
}

/** What is stored together with the new state. */
export interface Effects {
  readonly created: NewErrand[]
  readonly deleted: string[]
  readonly postponed: { readonly id: string; readonly dueAt: number }[]
  /** Versions that applications have got. */
  readonly versions: { readonly applicationId: string; readonly version: string }[]
}

export interface SeenBuild {
  readonly id: string
  readonly status: string
  readonly reason: string | undefined
  /** What it hands to later hooks. */
  readonly context: Readonly<Record<string, unknown>>
}

export interface World {
  readonly now: number
  /** Applications of the product in an environment. */
  readonly targetsOf: (environment: string) => readonly PlacedRow[]
  /** Applications by id, of targets and of promotions. */
  readonly applications: ReadonlyMap<string, Application>
  readonly errands: ReadonlyMap<string, SeenErrand>
  readonly builds: ReadonlyMap<string, SeenBuild>
  readonly newId: () => string
  /** What builds of hooks have handed to later ones. It grows. */
  readonly context: Record<string, unknown>
  readonly effects: Effects
}
