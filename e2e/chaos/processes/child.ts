/** A child process that is killed as a power cut would, and started again. It prints one line `ready <words>` when it works. */
import { spawn, type ChildProcess } from 'node:child_process'
import { createWriteStream, type WriteStream } from 'node:fs'
import { createInterface } from 'node:readline'

export interface Child {
  readonly name: string
  /** Undefined while it is dead. */
  readonly pid: number | undefined
  /** Words of its latest `ready` line. */
  readonly ready: readonly string[]
  /** Starts it; resolves when it is ready. Throws when it ends before. */
  start(): Promise<void>
  /** SIGKILL. True when it hit a live process. Resolves when the process is gone. */
  kill(): Promise<boolean>
}

export interface ChildOptions {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** Gets what it writes to standard error, of all its lives. */
  readonly logFile: string
  readonly readyMs?: number
}

/** Describes a child; nothing runs before `start`. */
export function describeChild(options: ChildOptions): Child {
  const log = createWriteStream(options.logFile, { flags: 'a' })
  let process: ChildProcess | undefined
  let ready: string[] = []
  return {
    name: options.name,
    get pid() {
      return process?.pid
    },
    get ready() {
      return ready
    },
    async start() {
      // With the death signal a run that is itself killed leaves nothing behind.
      const started = spawn('setpriv', ['--pdeathsig', 'KILL', options.command, ...options.args], {
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      process = started
      started.once('exit', () => {
        if (process === started) process = undefined
      })
      started.stderr.pipe(log, { end: false })
      ready = await firstReady(started, log, options)
    },
    async kill() {
      const victim = process
      if (victim === undefined || victim.exitCode !== null || victim.signalCode !== null) return false
      const { promise, resolve } = Promise.withResolvers<void>()
      victim.once('exit', () => resolve())
      const hit = victim.kill('SIGKILL')
      await promise
      return hit
    },
  }
}

async function firstReady(child: ChildProcess, log: WriteStream, options: ChildOptions): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>()
  const timer = setTimeout(() => reject(new Error(`${options.name} was not ready in time`)), options.readyMs ?? 20_000)
  child.once('exit', (code, signal) =>
    reject(new Error(`${options.name} ended (${signal ?? code}) before it was ready; see ${options.logFile}`)),
  )
  child.once('error', reject)
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      log.write(`${line}\n`)
      if (line.startsWith('ready')) resolve(line.split(' ').slice(1))
    })
  }
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}
