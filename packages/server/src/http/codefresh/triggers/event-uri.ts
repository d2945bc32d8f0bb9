/**
 * Names of events for public clients: a URI says what starts a pipeline, such as
 * `cron:codefresh:0 3 * * *:nightly:ACCOUNT` or `registry:any:team:app:push:ACCOUNT`.
 */
import { sha256 } from '@windlass/kit'
import type { CronTrigger, EventTrigger } from '@windlass/protocol'

/** What a URI names. */
export type EventSource =
  | { readonly type: 'cron'; readonly expression: string; readonly message: string }
  | { readonly type: 'registry' | 'helm'; readonly name: string }
  | { readonly type: 'build'; readonly pipeline: string }

/** Kind of each type. A trigger for images accepts calls of all registries, so it has no kind of registry. */
export const KINDS = { cron: 'codefresh', registry: 'any', helm: 'any', build: 'any' } as const

export function sourceOf(trigger: CronTrigger | EventTrigger): EventSource {
  switch (trigger.type) {
    case 'cron':
      return { type: 'cron', expression: trigger.expression, message: trigger.message }
    case 'registry':
      return { type: 'registry', name: trigger.image }
    case 'helm':
      return { type: 'helm', name: trigger.chart }
    case 'build':
      return { type: 'build', pipeline: trigger.source }
  }
}

/** Returns the filters of a trigger on its events. */
export function filtersOf(trigger: CronTrigger | EventTrigger): Record<string, string> {
  if (trigger.type === 'registry' && trigger.tag !== undefined) return { tag: trigger.tag }
  if (trigger.type === 'helm' && trigger.version !== undefined) return { tag: trigger.version }
  return {}
}

/** Returns the short name of an account in URIs: 12 hexadecimal digits. */
export function accountHash(accountId: string): string {
  return sha256(accountId).slice(0, 12)
}

export function toUri(accountId: string, source: EventSource): string {
  const account = accountHash(accountId)
  switch (source.type) {
    case 'cron':
      return `cron:${KINDS.cron}:${source.expression}:${source.message}:${account}`
    case 'build':
      return `build:${KINDS.build}:${source.pipeline}:finished:${account}`
    default: {
      const slash = source.name.lastIndexOf('/')
      const [namespace, name] = [source.name.slice(0, Math.max(0, slash)), source.name.slice(slash + 1)]
      return `${source.type}:${KINDS[source.type]}:${namespace}:${name}:push:${account}`
    }
  }
}

/** Reads a URI of the account. Returns undefined for another text. */
export function readUri(accountId: string, uri: string): EventSource | undefined {
  const end = `:${accountHash(accountId)}`
  if (!uri.endsWith(end)) return undefined
  const text = uri.slice(0, -end.length)
  const [, expression, message] = /^cron:codefresh:([^:]+):(.+)$/.exec(text) ?? []
  if (expression !== undefined && message !== undefined) return { type: 'cron', expression, message }
  const [, type, namespace, name] = /^(registry|helm):any:([^:]*):([^:]+):push$/.exec(text) ?? []
  if (type !== undefined && name !== undefined)
    return { type: type === 'helm' ? 'helm' : 'registry', name: namespace ? `${namespace}/${name}` : name }
  const [, pipeline] = /^build:any:(.+):finished$/.exec(text) ?? []
  return pipeline === undefined ? undefined : { type: 'build', pipeline }
}
