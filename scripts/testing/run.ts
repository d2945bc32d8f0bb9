/** Runs a program with its output in a file. Kills it and its children if the run is stopped. */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'

export interface Ended {
  readonly code: number
  /** True if it exceeded its time limit and was killed. */
  readonly isLate: boolean
  readonly seconds: number
  /** User and system time of the program and of those that it waited for. */
  readonly cpuSeconds: number
}

export interface RunOptions {
  /** Standard output and error; where `stdout` is given too, error only. */
  readonly log: string
  readonly stdout?: string
  readonly env?: Readonly<Record<string, string>>
  /** Time limit after which it is killed. */
  readonly limitSeconds?: number
  /** Nice value of the program, 0 by default. It stays 0 where the user may not lower it. */
  readonly nice?: number
}

/** Sets the nice value of the command that follows. Linux compares nice values only within a session, and sessions by their own one. */
function withNice(nice: number): string[] {
  if (nice === 0) return []
  return ['sh', '-c', `{ echo ${nice} > /proc/self/autogroup; } 2>/dev/null; exec nice -n ${nice} "$@"`, 'sh']
}

const running = new Set<number>()

export async function run(command: readonly string[], options: RunOptions): Promise<Ended> {
  const { log, stdout, env = {}, limitSeconds = 3_600, nice = 0 } = options
  const times = `${log}.times`
  const words = [...withNice(nice), ...command]
  // bash reports the CPU time of its children; Node does not.
  const measured = 'TIMEFORMAT="%U %S"; { time "$@" 2>&3; } 3>&2 2>"$0"'
  const error = openSync(log, 'w')
  const output = stdout === undefined ? error : openSync(stdout, 'w')
  const from = performance.now()
  const child = spawn('bash', ['-c', measured, times, ...words], {
    env: { ...process.env, ...env },
    stdio: ['ignore', output, error],
    // A process group of its own, which is ended as a whole.
    detached: true,
  })
  const { promise, resolve } = Promise.withResolvers<number>()
  child.once('error', () => resolve(127))
  child.once('exit', (code) => resolve(code ?? 1))
  if (child.pid !== undefined) running.add(child.pid)
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    end(child.pid, 'SIGTERM')
  }, limitSeconds * 1_000)
  const dead = setTimeout(() => end(child.pid, 'SIGKILL'), (limitSeconds + 30) * 1_000)
  const code = await promise
  clearTimeout(late)
  clearTimeout(dead)
  if (child.pid !== undefined) running.delete(child.pid)
  closeSync(error)
  if (stdout !== undefined) closeSync(output)
  const [user = 0, system = 0] = readText(times).trim().split(/\s+/).map(Number)
  return { code, isLate, seconds: (performance.now() - from) / 1_000, cpuSeconds: user + system }
}

/** Returns the content of a file, or an empty string if it does not exist. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Kills every program that is still running. */
export function endAll(): void {
  for (const pid of running) end(pid, 'SIGTERM')
}

/** Signals a program and its children. */
function end(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // It has already exited.
  }
}
