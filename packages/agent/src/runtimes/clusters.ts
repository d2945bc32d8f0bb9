/**
 * The clusters of an agent, by the names of their runtimes. The files are read again while the agent runs: a new file adds a runtime, a
 * removed file removes its runtime, and a new token is used from the next call on.
 */
import { createHash } from 'node:crypto'
import { watch } from 'node:fs'
import { fault, isAbort, type Clock, type Logger } from '@windlass/kit'
import type { ClusterAccess, Kube } from '@windlass/kube'
import type { RuntimeEntry, RuntimeFiles } from './runtime-files.ts'

export interface Cluster {
  readonly entry: RuntimeEntry
  readonly kube: Kube
}

export interface Clusters {
  find(runtime: string): Cluster | undefined
  all(): readonly Cluster[]
  /** Calls `open` for each existing and each future cluster. The function that it returns is called when that cluster is removed. */
  each(open: (cluster: Cluster) => () => void): void
  /** Uses another token for a runtime from the next call on. The replaced one is ignored if its file still has it. */
  replaceToken(runtime: string, token: string): void
  /** Reads the files again when they change, and every `rereadMs`, until the signal is aborted. */
  follow(signal: AbortSignal): Promise<void>
  close(): void
}

export interface ClustersOptions {
  /** Folder of the files, to watch for changes; undefined if nothing changes. */
  readonly dir: string | undefined
  readonly read: () => RuntimeFiles
  readonly openKube: (entry: RuntimeEntry) => Kube
  readonly clock: Clock
  readonly log: Logger
  /** Interval between reads, because change notifications can be lost. Milliseconds. */
  readonly rereadMs?: number
}

const REREAD_MS = 10_000
/** Delay that lets files that change together be read once. Milliseconds. */
const SETTLE_MS = 200
/** Maximum number of replaced tokens that are remembered for a runtime. */
const MAX_REPLACED = 20

interface Open extends Cluster {
  /** Hash of the fields whose change needs a new connection. */
  readonly hash: string
  token: (() => string) | undefined
  /** Tokens that were replaced by renewed ones. A mounted Secret is up to two minutes old. */
  readonly replaced: Set<string>
  readonly closers: (() => void)[]
}

/** Opens the clusters of a folder. Throws `config-invalid` if two files name one runtime, or if no file is valid. */
export function openClusters(options: ClustersOptions): Clusters {
  const files = options.read()
  const duplicates = files.problems.filter(({ message }) => message.startsWith('it names the runtime'))
  const list = (problems: RuntimeFiles['problems']): string =>
    problems.map(({ file, message }) => `${file}: ${message}`).join('; ')
  if (duplicates.length > 0)
    throw fault('config-invalid', {
      message: `Two files of ${options.dir} name one runtime: ${list(duplicates)}.`,
      hint: 'Name each runtime in one file only.',
    })
  if (files.runtimes.length === 0)
    throw fault('config-invalid', {
      message: `No file of ${options.dir} describes a runtime${files.problems.length > 0 ? `: ${list(files.problems)}` : ''}.`,
      hint: 'Mount one file `<runtime>.runtime.yaml` for each runtime, or set WINDLASS_AGENT_RUNTIME.',
    })
  return new FileClusters(options, files)
}

class FileClusters implements Clusters {
  readonly #options: ClustersOptions
  readonly #open = new Map<string, Open>()
  readonly #openers: ((cluster: Cluster) => () => void)[] = []
  #reportedProblems = ''

  constructor(options: ClustersOptions, files: RuntimeFiles) {
    this.#options = options
    this.#apply(files)
  }

  find(runtime: string): Cluster | undefined {
    return this.#open.get(runtime)
  }

  all(): readonly Cluster[] {
    return [...this.#open.values()]
  }

  each(open: (cluster: Cluster) => () => void): void {
    this.#openers.push(open)
    for (const cluster of this.#open.values()) cluster.closers.push(open(cluster))
  }

  replaceToken(runtime: string, token: string): void {
    const cluster = this.#open.get(runtime)
    if (cluster?.token === undefined) return
    cluster.replaced.add(cluster.token())
    const [oldest] = cluster.replaced
    if (cluster.replaced.size > MAX_REPLACED && oldest !== undefined) cluster.replaced.delete(oldest)
    cluster.token = () => token
  }

  close(): void {
    for (const name of this.#open.keys()) this.#remove(name)
  }

  async follow(signal: AbortSignal): Promise<void> {
    const { clock, dir, log, rereadMs = REREAD_MS } = this.#options
    if (dir === undefined) return
    let changed = Promise.withResolvers<void>()
    const notices = watchDir(dir, () => changed.resolve(), log)
    try {
      while (!signal.aborted) {
        const over = new AbortController()
        const pause = clock.sleep(rereadMs, AbortSignal.any([signal, over.signal])).catch(() => undefined)
        await Promise.race([changed.promise, pause])
        over.abort()
        await clock.sleep(SETTLE_MS, signal).catch(() => undefined)
        changed = Promise.withResolvers<void>()
        if (!signal.aborted) this.#apply(this.#options.read())
      }
    } finally {
      notices?.close()
    }
  }

  /** Applies the files. The runtime of a broken file keeps its last valid settings, so that a half-written file cannot end builds. */
  #apply({ runtimes, problems }: RuntimeFiles): void {
    const { log } = this.#options
    const serialized = JSON.stringify(problems)
    if (serialized !== this.#reportedProblems) for (const problem of problems) log.error(problem, 'invalid runtime file')
    this.#reportedProblems = serialized
    const names = new Set(runtimes.map(({ name }) => name))
    if (problems.length === 0)
      for (const name of this.#open.keys())
        if (!names.has(name)) {
          this.#remove(name)
          log.info({ runtime: name }, 'runtime removed')
        }
    for (const entry of runtimes) this.#set(entry)
  }

  #set(entry: RuntimeEntry): void {
    const known = this.#open.get(entry.name)
    const hash = hashOf(entry)
    const given = entry.access.token
    const token = known !== undefined && given !== undefined && isReplaced(known, given) ? known.token : given
    if (known?.hash === hash) {
      known.token = token
      return
    }
    if (known !== undefined) this.#remove(entry.name)
    const access: ClusterAccess = { ...entry.access, ...(entry.access.token && { token: () => cluster.token?.() ?? '' }) }
    const shown = { ...entry, access }
    const replaced = known?.replaced ?? new Set<string>()
    const cluster: Open = { entry: shown, kube: this.#options.openKube(shown), hash, token, replaced, closers: [] }
    this.#open.set(entry.name, cluster)
    this.#options.log.info(
      { runtime: entry.name, server: access.server },
      known === undefined ? 'runtime added' : 'runtime changed',
    )
    for (const open of this.#openers) cluster.closers.push(open(cluster))
  }

  #remove(name: string): void {
    const cluster = this.#open.get(name)
    this.#open.delete(name)
    for (const close of cluster?.closers ?? []) close()
    cluster?.kube.close()
  }
}

/** Returns true if a file still has a token that was replaced by a renewed one, or if the token cannot be read now. The token in use is kept then. */
function isReplaced({ replaced }: Open, read: () => string): boolean {
  try {
    return replaced.has(read())
  } catch {
    return true
  }
}

function hashOf({ access, ...entry }: RuntimeEntry): string {
  return createHash('sha256')
    .update(JSON.stringify({ ...entry, access: { ...access, token: undefined } }))
    .digest('hex')
}

/** Watches a folder. Returns undefined if that fails; the files are read at intervals anyway. */
function watchDir(dir: string, onChange: () => void, log: Logger): { close(): void } | undefined {
  try {
    const watcher = watch(dir, { persistent: false }, onChange)
    watcher.on('error', (error) => {
      if (!isAbort(error)) log.warn({ err: error, dir }, 'cannot watch the folder of runtime files')
      watcher.close()
    })
    return watcher
  } catch (error) {
    log.warn({ err: error, dir }, 'cannot watch the folder of runtime files')
    return undefined
  }
}

/** Returns one cluster that does not change, for one runtime or for any runtime that a task names. */
export function fixedCluster(cluster: Cluster, runtime: string | undefined): Clusters {
  return {
    find: (name) => (runtime === undefined || name === runtime ? cluster : undefined),
    all: () => [cluster],
    each: (open) => void open(cluster),
    replaceToken: () => undefined,
    follow: async () => undefined,
    close: () => cluster.kube.close(),
  }
}
