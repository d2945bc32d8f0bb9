/** Limits of the bytes that are stored of one application, because a runtime decides what it reports. Messages are cut first: they are the longest and say least. */
import type { ApplicationResource } from '@windlass/protocol'
import type { ApplicationFacts } from './stored-facts.ts'
import { oneLine } from '../manifest-fields.ts'

/** JSON in the columns `facts` and `resources`. A page of the list has 500 times the first one at most. Bytes. */
export const MAX_FACTS_BYTES = 16_384
export const MAX_RESOURCES_BYTES = 262_144

/** Longest messages, and longest lists: each step cuts more. With the last one the longest texts of `manifest.ts` fit. */
const FACTS_STEPS = [
  { messages: 2_000, entries: 100 },
  { messages: 500, entries: 100 },
  { messages: 100, entries: 100 },
  { messages: 100, entries: 20 },
  { messages: 100, entries: 5 },
  { messages: 100, entries: 1 },
] as const

/** Returns the facts with messages and lists that are short enough. */
export function fitFacts(facts: ApplicationFacts): ApplicationFacts {
  let fitted = facts
  for (const { messages, entries } of FACTS_STEPS) {
    fitted = cutFacts(facts, { messages, entries })
    if (bytesOf(fitted) <= MAX_FACTS_BYTES) break
  }
  return fitted
}

interface Cut {
  /** Characters. */
  readonly messages: number
  readonly entries: number
}

function cutFacts(facts: ApplicationFacts, { messages, entries }: Cut): ApplicationFacts {
  const { healthMessage, operation, why, conditions } = facts
  return {
    ...facts,
    sources: facts.sources.slice(0, entries),
    revisions: facts.revisions.slice(0, entries),
    images: facts.images.slice(0, entries),
    ...(facts.labels !== undefined && { labels: Object.fromEntries(Object.entries(facts.labels).slice(0, entries)) }),
    conditions: conditions
      .slice(0, entries)
      .map((condition) => ({ ...condition, message: oneLine(condition.message, messages) })),
    ...(healthMessage !== undefined && { healthMessage: oneLine(healthMessage, messages) }),
    // The sentences have names too, and are what people read first.
    ...(why !== undefined && { why: oneLine(why, messages * 3) }),
    ...(operation !== undefined && {
      operation: {
        ...operation,
        ...(operation.message !== undefined && { message: oneLine(operation.message, messages) }),
        ...(operation.revisions !== undefined && { revisions: operation.revisions.slice(0, entries) }),
      },
    }),
  }
}

const RESOURCE_MESSAGES = [2_000, 500, 100] as const

/** Returns the resources with messages that are short enough, and as many of the first ones as then fit. */
export function fitResources(resources: readonly ApplicationResource[]): readonly ApplicationResource[] {
  let fitted = resources
  for (const longest of RESOURCE_MESSAGES) {
    fitted = resources.map((resource) =>
      resource.message === undefined ? resource : { ...resource, message: oneLine(resource.message, longest) },
    )
    if (bytesOf(fitted) <= MAX_RESOURCES_BYTES) return fitted
  }
  // The brackets, and a comma after each one.
  let left = MAX_RESOURCES_BYTES - 2
  const end = fitted.findIndex((resource) => (left -= bytesOf(resource) + 1) < 0)
  return end < 0 ? fitted : fitted.slice(0, end)
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
