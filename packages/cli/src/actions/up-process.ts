/** The process of `windlass up` as others see it: a file in its data folder says who it is. */
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { z } from 'zod'
import type { Invocation, Values } from '../command.ts'
import type { upOptions } from '../commands/up.ts'

const UpProcess = z.object({ pid: z.int().positive(), startedAt: z.string(), url: z.string(), adminKey: z.string() })
export type UpProcess = z.infer<typeof UpProcess>

/** Name of the context that `up` saves. */
export const LOCAL_CONTEXT = 'local'

const READY_MS = 60_000
const STOP_MS = 20_000
const POLL_MS = 50

function fileOf(dataDir: string): string {
  return join(dataDir, 'up.json')
}

/** Tells others that this process serves the folder. */
export function writeProcess(dataDir: string, found: Omit<UpProcess, 'startedAt'>): void {
  const part = `${fileOf(dataDir)}.part`
  writeFileSync(part, `${JSON.stringify({ ...found, startedAt: startTimeOf(found.pid) ?? '' })}\n`, { mode: 0o600 })
  renameSync(part, fileOf(dataDir))
}

export function removeProcess(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true })
}

/** The process that serves the folder; undefined when none does, also after one that was killed. */
export function readProcess(dataDir: string): UpProcess | undefined {
  let text: string
  try {
    text = readFileSync(fileOf(dataDir), 'utf8')
  } catch {
    return undefined
  }
  const parsed = UpProcess.safeParse(JSON.parse(text))
  return parsed.success && isAlive(parsed.data) ? parsed.data : undefined
}

/** True when the process of that number is still the one that wrote the file. */
function isAlive({ pid, startedAt }: UpProcess): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  return (startTimeOf(pid) ?? '') === startedAt
}

/** When the kernel says a process began; undefined on systems that do not say, and for one that is dead and not buried yet. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

/** Starts the same command in the background; resolves when it is ready. Throws what it said when it ended instead. */
export async function startDetached(
  { options, settings }: Invocation<Values<typeof upOptions>>,
  dataDir: string,
): Promise<UpProcess> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const logFile = join(dataDir, 'up.log')
  const output = openSync(logFile, 'w', 0o600)
  const words = ['up', '--data', dataDir]
  if (options.port !== undefined) words.push('--port', String(options.port))
  if (options.host !== undefined) words.push('--host', options.host)
  // The address may hold a password, which the command line would show to everybody.
  const env = { ...settings.environment, ...(options.postgres !== undefined && { WINDLASS_POSTGRES: options.postgres }) }
  const main = join(import.meta.dirname, '..', 'main.ts')
  const child = spawn(process.execPath, [main, ...words], { detached: true, stdio: ['ignore', output, output], env, cwd: '/' })
  closeSync(output)
  child.unref()
  let ended = false
  child.once('exit', () => (ended = true))
  child.once('error', () => (ended = true))
  for (
    const until = systemClock.monotonic() + READY_MS;
    systemClock.monotonic() < until && !ended;
    await systemClock.sleep(POLL_MS)
  ) {
    const found = readProcess(dataDir)
    if (found !== undefined && found.pid === child.pid) return found
  }
  throw fault('unavailable', {
    message: `The server did not start: ${firstError(logFile)}`,
    hint: `Its output is in ${logFile}.`,
  })
}

function firstError(logFile: string): string {
  const lines = readFileSync(logFile, 'utf8').split('\n')
  return lines.find((line) => line.startsWith('error: '))?.slice('error: '.length) ?? 'it said nothing.'
}

/** Stops the process that serves the folder and waits for its end; undefined when none does. */
export async function stopProcess(dataDir: string): Promise<UpProcess | undefined> {
  const found = readProcess(dataDir)
  if (found === undefined) return undefined
  process.kill(found.pid, 'SIGTERM')
  for (const until = systemClock.monotonic() + STOP_MS; isAlive(found); await systemClock.sleep(POLL_MS)) {
    if (systemClock.monotonic() < until) continue
    process.kill(found.pid, 'SIGKILL')
    break
  }
  removeProcess(dataDir)
  return found
}
