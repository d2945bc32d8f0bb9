/** Changes to one record of a history, for mutants. */
import type { FeedItem } from '@windlass/protocol'
import { isTrigger, type BuildRecord, type EngineTrace, type History, type TriggerOperation } from './history.ts'

export interface Mutant {
  /** The error that the mutant simulates. */
  readonly name: string
  /** The invariant that must detect it. */
  readonly invariant: number
  mutate(history: History): History
}

export type Loose<T> = { -readonly [K in keyof T]: T[K] }

export const build = (history: History, change: (build: Loose<BuildRecord>) => void, which = isWholeSuccess): History => {
  const target = history.builds.find(which)
  if (target === undefined) throw new Error('the history has no build for this mutant')
  const copy = structuredClone(target)
  change(copy)
  return { ...history, builds: history.builds.map((other) => (other === target ? copy : other)) }
}

export const engine = (
  history: History,
  change: (trace: Loose<EngineTrace>) => void,
  which: (trace: EngineTrace) => boolean,
): History => {
  const target = history.engines.find(which)
  if (target === undefined) throw new Error('the history has no engine for this mutant')
  const copy = structuredClone(target)
  change(copy)
  return { ...history, engines: history.engines.map((other) => (other === target ? copy : other)) }
}

export const trigger = (history: History, change: (trigger: Loose<TriggerOperation>) => void): History => {
  const target = history.operations.find((operation) => isTrigger(operation) && operation.result === 'ok')
  if (target === undefined || !isTrigger(target)) throw new Error('the history has no trigger')
  const copy = structuredClone(target)
  change(copy)
  return { ...history, operations: history.operations.map((other) => (other === target ? copy : other)) }
}

export function isWholeSuccess(record: BuildRecord): boolean {
  return record.status === 'success' && record.attempts.length === 1
}

export const isRetried = (record: BuildRecord): boolean => record.attempts.length > 1
export const isSecond = (trace: EngineTrace): boolean => trace.attempt === 2
export const isWhole = (trace: EngineTrace): boolean => trace.outcome === 'success' && trace.attempt === 1
export const firstStream = '1/step/clone'

/** Renumbers positions, so that a mutant corrupts the bytes and not the numbering. */
export function renumber(feed: readonly FeedItem[]): FeedItem[] {
  return feed.map((item, n) => ({ ...item, position: n + 1 }))
}

export function changeBytes(record: Loose<BuildRecord>, key: string, change: (bytes: Buffer) => Buffer): void {
  const bytes = change(Buffer.from(record.logs[key] ?? '', 'base64'))
  record.logs = { ...record.logs, [key]: bytes.toString('base64') }
  const [attempt, ...stream] = key.split('/')
  const name = stream.join('/')
  const at = record.feed.findIndex((item) => item.kind === 'log' && item.attempt === Number(attempt) && item.stream === name)
  const others = record.feed.filter((item) => item.kind !== 'log' || item.attempt !== Number(attempt) || item.stream !== name)
  const frame: FeedItem = {
    kind: 'log',
    position: 1,
    attempt: Number(attempt),
    at: 0,
    stream: name,
    offset: 0,
    bytes: bytes.toString('base64'),
  }
  record.feed = renumber([...others.slice(0, at), frame, ...others.slice(at)])
}
