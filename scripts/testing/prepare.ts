/** Prepares the parts that groups need, in the background and in the order in which they are needed. */
import { join } from 'node:path'
import type { Part } from './groups.ts'
import { RECIPES, withNeeds } from './parts.ts'
import { readText, run } from './run.ts'

export interface Prepared {
  /** Output of the scripts of parts that cannot be prepared; empty if all are ready. */
  readonly faults: readonly string[]
  /** For the tests that use them. */
  readonly env: Readonly<Record<string, string>>
}

export interface Preparation {
  /** Resolves when the parts are ready or cannot be prepared. Never rejects. */
  ready(parts: readonly Part[]): Promise<Prepared>
  /** True if a program had to be compiled, as on a machine that never ran the tests. */
  wasBare(): boolean
}

/** One queue for each exclusive resource. */
export type Queue = <T>(rank: number, work: () => Promise<T>) => Promise<T>

/** Opens a queue that runs one work at a time: of those that wait, the one with the lowest rank. */
export function openQueue(): Queue {
  const waiting: { readonly rank: number; readonly start: () => void }[] = []
  let isBusy = false
  function next(): void {
    const first = waiting.toSorted((a, b) => a.rank - b.rank)[0]
    if (isBusy || first === undefined) return
    isBusy = true
    waiting.splice(waiting.indexOf(first), 1)
    first.start()
  }
  return async (rank, work) => {
    const turn = Promise.withResolvers<void>()
    waiting.push({ rank, start: turn.resolve })
    // In a later turn of the event loop: work that waited for the one that has just ended has joined the queue by then.
    setImmediate(next)
    await turn.promise
    try {
      return await work()
    } finally {
      isBusy = false
      setImmediate(next)
    }
  }
}

/** Starts to prepare the parts. Packages and images are prepared in sequence, compiled parts in parallel to them. */
export function startPreparing(asked: readonly Part[], folder: string): Preparation {
  const queues = { compiler: openQueue(), installer: openQueue() }
  const parts = new Map<Part, Promise<Prepared>>()
  let bare = false

  async function make(part: Part, rank: number): Promise<Prepared> {
    const recipe = RECIPES[part]
    const before = await ready(recipe.needs ?? [])
    if (before.faults.length > 0) return before
    const log = join(folder, `part-${part.replace(':', '-')}.log`)
    const stdout = `${log}.out`
    const queue = recipe.compiles === true ? queues.compiler : queues.installer
    const { code, seconds } = await queue(rank, () => run(recipe.command, { log, stdout, nice: recipe.nice ?? 0 }))
    const said = readText(log)
    if (/^compiling /m.test(said)) bare = true
    if (seconds > 10) console.log(`-- ${part} is there after ${seconds.toFixed(0)} s of making it`)
    if (code !== 0) return { faults: [`${part}: ${said}`], env: {} }
    return { faults: [], env: recipe.environment === true ? readEnvironment(readText(stdout)) : {} }
  }

  async function ready(wanted: readonly Part[]): Promise<Prepared> {
    const all = await Promise.all(
      wanted.map((part) => parts.get(part) ?? Promise.resolve({ faults: [`${part} was not asked for`], env: {} })),
    )
    return { faults: [...new Set(all.flatMap(({ faults }) => faults))], env: Object.assign({}, ...all.map(({ env }) => env)) }
  }

  // A recipe stands after those that it needs, so that their promises are there.
  for (const [rank, part] of inOrder(withNeeds(asked)).entries()) parts.set(part, make(part, rank))
  return { ready, wasBare: () => bare }
}

/** Returns the parts in order, each after its dependencies. */
export function inOrder(parts: readonly Part[]): Part[] {
  const done: Part[] = []
  const add = (part: Part): void => {
    for (const need of RECIPES[part].needs ?? []) add(need)
    if (!done.includes(part)) done.push(part)
  }
  for (const part of parts) add(part)
  return done
}

/** Parses the variables of lines such as `export KUBECONFIG=/a PATH=/b:$PATH`. */
export function readEnvironment(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/\b([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [
    name,
    value.replaceAll(/\$([A-Z_]+)/g, (_, variable: string) => process.env[variable] ?? ''),
  ])
  return Object.fromEntries(pairs)
}
