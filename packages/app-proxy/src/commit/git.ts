/** Runs git in a temporary repository without a work tree: no files of users are checked out, and no configuration, hook or filter of theirs is read. */
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { fault, hasCode, proxyOf } from '@windlass/kit'
import { noAnswer } from '../forge/hosts.ts'
import { localEnvironment, remoteEnvironment, type Environment, type GitAccount, type GitSettings } from './git-environment.ts'
import { messageOf, remoteFault, startFault, storageFull, tooLarge } from './git-faults.ts'
import { limitPacks } from './pack-limit.ts'
import { runGroup, type GroupEnd } from './process-group.ts'

/** Names of the folders of repositories begin with it. */
export const REPOSITORY_PREFIX = 'windlass-commit-'
/** Time for one command. Milliseconds. */
const TIMEOUT_MS = 120_000
/** A disk with less is full. Bytes. */
const MIN_FREE_BYTES = 65_536
/** Maximum bytes of the output of one command: the list of the files of a large repository. */
const MAX_OUTPUT = 67_108_864

export interface GitEnd {
  readonly code: number
  readonly output: Buffer
  /** Messages, in English. */
  readonly errors: string
}

export interface GitCommand {
  readonly input?: string | Buffer
  readonly env?: Readonly<Record<string, string>>
  /** True for a command that calls the Git server. Only it gets the token. */
  readonly isRemote?: true
}

export interface GitRepository extends AsyncDisposable {
  /**
   * Runs a command. Throws `forge-unreachable` if it takes longer than two minutes, `file-too-large` if its output or what it fetches is too large, and
   * `storage-full`.
   */
  run(args: readonly string[], command?: GitCommand): Promise<GitEnd>
  /** Returns the output. Throws an error if the command fails: for commands that only read and write the temporary repository. */
  read(args: readonly string[], command?: GitCommand): Promise<Buffer>
  /** Fetches what `source` names to `target`, without the contents of files. Throws what `remoteFault` returns. */
  fetch(source: string, target: string): Promise<void>
}

/**
 * Creates an empty repository whose remote `origin` is that of the account. Disposing it deletes its folder. Throws `forge-unreachable` for a name that leads to an
 * address at which no forge is, and `storage-full`.
 */
export async function openRepository(account: GitAccount, settings: GitSettings): Promise<GitRepository> {
  const url = new URL(account.url)
  // A proxy resolves names itself.
  const addresses = proxyOf(url, settings.proxy) === undefined ? await settings.hosts.addressesOf(url) : []
  const folder = await mkdtemp(join(settings.folder, REPOSITORY_PREFIX)).catch((error: unknown) => {
    throw hasCode(error, 'ENOSPC', 'EDQUOT') ? storageFull(error) : error
  })
  await using opening = new AsyncDisposableStack()
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const repository = new TemporaryRepository(folder, settings, {
    local: localEnvironment(folder, settings),
    remote: remoteEnvironment(account, settings, addresses),
  })
  await repository.read(['init', '--quiet', '--bare'])
  await repository.read(['remote', 'add', '--', 'origin', account.url])
  opening.move()
  return repository
}

interface Environments {
  readonly local: Environment
  /** Besides `local`, for commands that call the Git server. */
  readonly remote: Environment
}

class TemporaryRepository implements GitRepository {
  readonly #folder: string
  readonly #settings: GitSettings
  readonly #env: Environments

  constructor(folder: string, settings: GitSettings, env: Environments) {
    this.#folder = folder
    this.#settings = settings
    this.#env = env
  }

  async run(args: readonly string[], { input, env, isRemote }: GitCommand = {}): Promise<GitEnd> {
    const { signal, maxFetchBytes } = this.#settings
    await using limit = isRemote === true ? limitPacks(join(this.#folder, PACKS), maxFetchBytes) : undefined
    const ended = await runGroup('git', args, {
      folder: this.#folder,
      env: { ...this.#env.local, ...(isRemote === true && this.#env.remote), ...env },
      input,
      maxBytes: MAX_OUTPUT,
      timeoutMs: TIMEOUT_MS,
      signal: limit === undefined ? signal : AbortSignal.any([signal, limit.signal]),
    }).catch((error: unknown) => {
      signal.throwIfAborted()
      throw limit?.signal.aborted === true ? tooLarge(`needs more than ${maxFetchBytes} bytes`) : startFault(error)
    })
    if (ended.code === 0) return { code: 0, output: ended.output, errors: ended.errors }
    if (await this.#isFull(ended.errors)) throw storageFull(new Error(messageOf(ended.errors)))
    return toEnd(ended)
  }

  async read(args: readonly string[], command?: GitCommand): Promise<Buffer> {
    const { code, output, errors } = await this.run(args, command)
    if (code !== 0) throw new Error(`git ${args[0]} ended with ${code}: ${errors.slice(0, 1_000)}`)
    return output
  }

  async fetch(source: string, target: string): Promise<void> {
    const options = ['--quiet', '--no-tags', '--depth=1', '--filter=blob:none', '--no-write-fetch-head', '--end-of-options']
    const { code, errors } = await this.run(['fetch', ...options, 'origin', `+${source}:${target}`], { isRemote: true })
    if (code !== 0) throw remoteFault(errors)
  }

  /** Some commands do not say why they cannot write, and others delete what they wrote. */
  async #isFull(errors: string): Promise<boolean> {
    const own = errors.split('\n').filter((line) => !line.startsWith('remote:'))
    if (own.some((line) => /No space left on device|Disk quota exceeded/i.test(line))) return true
    const { bavail, bsize, files, ffree } = await statfs(this.#folder)
    return bavail * bsize < MIN_FREE_BYTES || (files > 0 && ffree === 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Where a fetch writes what it gets. */
const PACKS = 'repository/objects/pack'

/** Returns the end of a command that failed. Throws if it did not run to its end. */
function toEnd({ code, limit, output, errors }: GroupEnd): GitEnd {
  if (limit === 'output') throw tooLarge('has too many files')
  if (limit === 'time') throw noAnswer(`The Git server took longer than ${TIMEOUT_MS / 1000} s.`)
  // The kernel, for example, if the memory is used up.
  if (code === undefined) throw fault('unavailable', { message: 'git was killed in the app-proxy. Its memory may be used up.' })
  return { code, output, errors }
}
