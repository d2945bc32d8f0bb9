/**
 * The commands of the helper, with the names and options of the original, so that its scripts can be read by whoever knows those. Each loads what only it needs: the helper
 * starts for every job, and most jobs use one command.
 */
import type { Readable, Writable } from 'node:stream'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import type { Clock } from '@windlass/kit'
import type { Wanted } from '../archive/select-files.ts'
import type { ArtifactsCall } from '../artifacts/address.ts'
import { parseGoDuration } from '../config/duration.ts'
import type { RestoreOptions } from '../cache/transfer-cache.ts'
import type { Environment } from './transfer.ts'

export interface CommandContext {
  readonly env: Environment
  readonly folder: string
  readonly clock: Clock
  /** Aborted by SIGTERM. */
  readonly signal: AbortSignal
  readonly output: Writable
  readonly input: Readable
}

/** Values of options: one text, or a list of them. */
class Options {
  readonly #values: Readonly<Record<string, unknown>>

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values
  }

  text(name: string): string {
    const value = this.#values[name]
    return typeof value === 'string' ? value : ''
  }

  /** Throws without a value. */
  required(name: string): string {
    const value = this.text(name)
    if (value === '') throw new Error(`the option --${name} is missing`)
    return value
  }

  optional(name: string): string | undefined {
    const value = this.text(name)
    return value === '' ? undefined : value
  }

  list(name: string): readonly string[] {
    const value = this.#values[name]
    return Array.isArray(value) ? value.map(String) : []
  }

  isSet(name: string): boolean {
    return this.#values[name] === true
  }

  /** Returns a number that is not negative; the default for another text. */
  count(name: string, usual: number): number {
    const value = this.text(name)
    return /^\d{1,15}$/.test(value) ? Number(value) : usual
  }
}

interface Command {
  readonly options: NonNullable<ParseArgsConfig['options']>
  readonly run: (options: Options, context: CommandContext) => Promise<void>
}

const text = { type: 'string' } as const
const list = { type: 'string', multiple: true } as const
const flag = { type: 'boolean' } as const

const MINUTE_MS = 60_000
/** Longest upload of artifacts without `upload_timeout`. Milliseconds. */
const UPLOAD_MS = 60 * MINUTE_MS

const COMMANDS: Readonly<Record<string, Command>> = {
  'run-job': {
    options: { program: text, exchange: text, attached: flag },
    async run(options, context) {
      const { runJob } = await import('./run-job.ts')
      const { clock, signal } = context
      const folders = { programFolder: options.required('program'), exchangeFolder: options.required('exchange') }
      // What the helper writes belongs to whatever user the job runs as.
      process.umask(0)
      if (options.isSet('attached')) {
        const { runAttached } = await import('./run-attached.ts')
        return runAttached(folders, context)
      }
      await runJob({ ...folders, clock, signal })
      // The log has to be read before the pod ends.
      while (!signal.aborted) await clock.sleep(MINUTE_MS, signal).catch(() => undefined)
    },
  },
  'health-check': {
    options: { port: list },
    async run(options, { clock, signal }) {
      const { accepts } = await import('./run-job.ts')
      for (const port of options.list('port'))
        while (!signal.aborted && !(await accepts(Number(port)))) await clock.sleep(100, signal)
    },
  },
  'append-service-log': {
    options: { exchange: text, service: text, name: text },
    async run(options, { input }) {
      const { appendServiceLog } = await import('./service-log.ts')
      await appendServiceLog({
        exchangeFolder: options.required('exchange'),
        service: options.count('service', 0),
        name: options.required('name'),
        input,
      })
    },
  },
  'artifacts-uploader': {
    options: {
      url: text,
      token: text,
      id: text,
      timeout: text,
      path: list,
      exclude: list,
      untracked: flag,
      name: text,
      'expire-in': text,
      'artifact-format': text,
      'artifact-type': text,
    },
    async run(options, context) {
      const { uploadArtifacts } = await import('../artifacts/upload.ts')
      await uploadArtifacts({
        ...wantedOf(options),
        ...artifactsOf(options, context),
        name: options.text('name'),
        expireIn: options.text('expire-in'),
        format: options.text('artifact-format'),
        type: options.text('artifact-type'),
        timeoutMs: parseGoDuration(options.text('timeout')) ?? UPLOAD_MS,
      })
    },
  },
  'artifacts-archiver': {
    options: { file: text, path: list, exclude: list, untracked: flag },
    async run(options, { folder, env, output }) {
      const { archiveArtifacts } = await import('../artifacts/archive.ts')
      await archiveArtifacts({
        ...wantedOf(options),
        file: options.required('file'),
        folder,
        env,
        say: (line) => void output.write(`${line}\n`),
      })
    },
  },
  'artifacts-downloader': {
    options: { url: text, token: text, id: text },
    async run(options, context) {
      const { downloadArtifacts } = await import('../artifacts/download.ts')
      await downloadArtifacts(artifactsOf(options, context))
    },
  },
  'cache-archiver': {
    options: {
      file: text,
      timeout: text,
      path: list,
      exclude: list,
      untracked: flag,
      'max-uploaded-archive-size': text,
      url: text,
      header: list,
    },
    async run(options, context) {
      const { saveCache } = await import('../cache/transfer-cache.ts')
      await saveCache({
        ...wantedOf(options),
        ...cacheOf(options, context),
        headers: options.list('header'),
        maxBytes: options.count('max-uploaded-archive-size', 0),
      })
    },
  },
  'cache-extractor': {
    options: { file: text, timeout: text, url: text },
    async run(options, context) {
      const { restoreCache } = await import('../cache/transfer-cache.ts')
      await restoreCache(cacheOf(options, context))
    },
  },
}

function wantedOf(options: Options): Wanted {
  return { paths: options.list('path'), exclude: options.list('exclude'), untracked: options.isSet('untracked') }
}

function artifactsOf(options: Options, { folder, env, clock, output }: CommandContext): ArtifactsCall {
  return {
    url: options.required('url'),
    jobId: options.required('id'),
    // The option of the original would show the token to every process of the pod.
    token: options.optional('token') ?? env['CI_JOB_TOKEN'] ?? '',
    folder,
    env,
    clock,
    say: (line) => void output.write(`${line}\n`),
  }
}

function cacheOf(options: Options, { folder, env, clock, output }: CommandContext): RestoreOptions {
  return {
    file: options.required('file'),
    url: options.optional('url'),
    timeoutMs: options.count('timeout', 10) * MINUTE_MS,
    folder,
    env,
    clock,
    say: (line) => void output.write(`${line}\n`),
  }
}

/** Runs a command line. Throws an error that says what is wrong with it, or why the command failed. */
export async function runCommand(words: readonly string[], context: CommandContext): Promise<void> {
  const [name = '', ...args] = words
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) throw new Error(`"${name}" is not one of the commands ${Object.keys(COMMANDS).join(', ')}`)
  const { values } = parseArgs({ args, options: command.options, strict: true })
  await command.run(new Options(values), context)
}
