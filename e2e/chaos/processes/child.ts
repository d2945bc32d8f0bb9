/** A child process that can be killed and restarted. It prints a line `ready <words>` when it is ready. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, openSync } from 'node:fs'
import { createInterface } from 'node:readline'

export interface Child {
  readonly name: string
  /** Undefined while it is down. */
  readonly pid: number | undefined
  /** Words of its latest `ready` line. */
  readonly ready: readonly string[]
  /** Starts it and resolves when it is ready. If it exits first or is not ready in time, stops it and throws. */
  start(): Promise<void>
  /** How it ended, each time that it was neither killed nor replaced. */
  readonly crashes: readonly string[]
  /** Sends SIGKILL and resolves when the process is gone. Returns true if the process was ready. */
  kill(): Promise<boolean>
  /** Sends SIGSTOP or SIGCONT, which freezes and resumes the process. Returns true if the process was ready. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): boolean
}

export interface ChildOptions {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** File for its output, across restarts. */
  readonly logFile: string
  readonly readyMs?: number
}

/** Exit code of a process that has learned that another one took its place. */
export const REPLACED = 3

/** Describes a child. It does not start before `start`. */
export function describeChild(options: ChildOptions): Child {
  const log = openSync(options.logFile, 'a')
  let process: ChildProcess | undefined
  let isReady = false
  let ready: string[] = []
  let isExpected = false
  const crashes: string[] = []

  async function end(): Promise<void> {
    const victim = process
    if (victim === undefined) return
    isExpected = true
    const gone = victim.exitCode !== null || victim.signalCode !== null ? undefined : once(victim, 'exit')
    victim.kill('SIGKILL')
    await gone
  }

  return {
    name: options.name,
    crashes,
    get pid() {
      return process?.pid
    },
    get ready() {
      return ready
    },
    async start() {
      if (process !== undefined) throw new Error(`${options.name} runs already`)
      // The death signal ends the child even if the run itself is killed.
      const started = spawn('setpriv', ['--pdeathsig', 'KILL', options.command, ...options.args], {
        stdio: ['ignore', 'pipe', log],
      })
      process = started
      isExpected = false
      started.once('exit', (code, signal) => {
        if (isReady && !isExpected && code !== REPLACED) crashes.push(`${options.name} ended by itself (${signal ?? code})`)
        process = undefined
        isReady = false
      })
      try {
        ready = await firstReady(started, options)
        isReady = true
      } catch (error) {
        await end()
        throw error
      }
    },
    async kill() {
      const hit = isReady
      await end()
      return hit
    },
    signal: (name) => isReady && process?.kill(name) === true,
  }
}

async function firstReady(child: ChildProcess, options: ChildOptions): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>()
  const timer = setTimeout(() => reject(new Error(`${options.name} was not ready in time`)), options.readyMs ?? 120_000)
  child.once('exit', (code, signal) =>
    reject(new Error(`${options.name} ended (${signal ?? code}) before it was ready; see ${options.logFile}`)),
  )
  child.once('error', reject)
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      appendFileSync(options.logFile, `${line}\n`)
      if (line.startsWith('ready')) resolve(line.split(' ').slice(1))
    })
  }
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}
