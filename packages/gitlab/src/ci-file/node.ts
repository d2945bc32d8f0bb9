/** The values of a `.gitlab-ci.yml` with their places. Values are immutable, so an anchor and its aliases share one. */
import { fault, type Fault } from '@windlass/kit'

/** Where a value stands. */
export interface Place {
  /** Relative to the repository. */
  readonly file: string
  /** From 1. */
  readonly line: number
}

export interface ScalarNode {
  readonly kind: 'scalar'
  readonly at: Place
  readonly value: string | number | boolean | null
  readonly size: number
}

export interface ListNode {
  readonly kind: 'list'
  readonly at: Place
  readonly items: readonly Node[]
  readonly size: number
}

export interface TableNode {
  readonly kind: 'table'
  readonly at: Place
  readonly entries: ReadonlyMap<string, Entry>
  readonly size: number
}

/** `!reference [job, key]`. */
export interface ReferenceNode {
  readonly kind: 'reference'
  readonly at: Place
  readonly path: readonly string[]
  readonly size: number
}

/** `size` counts the values in it, also those of aliases. */
export type Node = ScalarNode | ListNode | TableNode | ReferenceNode

export interface Entry {
  /** Place of the key. */
  readonly at: Place
  readonly value: Node
}

/** Most values of a file or of a job, after aliases, `extends` and references. A few lines of aliases can mean billions. */
export const MAX_VALUES = 100_000

/** Something that a user should know about the file. The job still runs. */
export interface CiWarning extends Place {
  readonly message: string
}

/** Returns the fault for a file that cannot be used. */
export function invalid({ file, line }: Place, message: string, hint?: string): Fault {
  return fault('document-invalid', { message: `${file}:${line}: ${message}`, ...(hint !== undefined && { hint }) })
}

export function scalarNode(at: Place, value: ScalarNode['value']): ScalarNode {
  return { kind: 'scalar', at, value, size: 1 }
}

/** Throws `document-invalid` if the list is too large. */
export function listNode(at: Place, items: readonly Node[]): ListNode {
  const size = items.reduce((sum, item) => sum + item.size, 1)
  requireSize(at, size)
  return { kind: 'list', at, items, size }
}

/** Throws `document-invalid` if the table is too large. */
export function tableNode(at: Place, entries: ReadonlyMap<string, Entry>): TableNode {
  let size = 1
  for (const { value } of entries.values()) size += value.size
  requireSize(at, size)
  return { kind: 'table', at, entries, size }
}

function requireSize(at: Place, size: number): void {
  if (size > MAX_VALUES)
    throw invalid(
      at,
      `the value has more than ${MAX_VALUES} values with those of its aliases and references`,
      'Remove anchors or references that contain each other.',
    )
}

/** Limits the entries that merges copy. The size of a value is known only when it has been made, and the same anchor can be merged many times before that. */
export class MergeLimit {
  readonly #most: number
  #taken = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Counts entries before they are copied. Throws `document-invalid` if they are too many. */
  take(at: Place, entries: number): void {
    this.#taken += entries
    if (this.#taken > this.#most)
      throw invalid(
        at,
        `\`<<\`, \`extends\` and references copy more than ${this.#most} values up to here`,
        'Merge fewer or smaller tables.',
      )
  }
}

/** Merges tables, and tables in them. Of other values the one of `over` is used. Rules of `extends` and `include` of GitLab. */
function deepMerge(under: Node, over: Node, limit: MergeLimit): Node {
  if (under.kind !== 'table' || over.kind !== 'table') return over
  return mergeTables(under, over, limit)
}

/** The same for two tables. Throws `document-invalid` if the result is too large, or the limit is reached. */
export function mergeTables(under: TableNode, over: TableNode, limit: MergeLimit): TableNode {
  limit.take(over.at, under.entries.size + over.entries.size)
  const entries = new Map(under.entries)
  for (const [key, entry] of over.entries) {
    const below = entries.get(key)
    entries.set(key, below === undefined ? entry : { at: entry.at, value: deepMerge(below.value, entry.value, limit) })
  }
  return tableNode(over.at, entries)
}

/** Returns a table without some keys. */
export function without(table: TableNode, ...keys: readonly string[]): TableNode {
  return tableNode(table.at, new Map([...table.entries].filter(([key]) => !keys.includes(key))))
}
