/** Runs the real command against real servers: tests spawn `windlass`, as a user does. */
import { existsSync } from 'node:fs'
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { ensureImages } from '../../../e2e/support/images.ts'
import { removeBuilds } from '../../../e2e/support/leftovers.ts'
import { removeLocalRuns } from '../../../e2e/support/local-runs.ts'
import { freePort } from '../../../e2e/support/process.ts'
import { WINDLASS } from '../../../e2e/support/programs.ts'
import { memoryFolder } from '../../../e2e/support/memory-folder.ts'
import { callWindlass } from './windlass.ts'

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcessWithoutNullStreams
  stdout(): string
  stderr(): string
  /** Resolves when standard output or standard error contains the text. */
  says(text: string | RegExp): Promise<void>
  /** Sends SIGINT, like Ctrl-C. */
  interrupt(): void
  readonly finished: Promise<Finished>
}

export interface Sandbox {
  readonly folder: string
  /** Image names by variable, such as `SHELL_IMAGE`. */
  readonly images: Readonly<Record<string, string>>
  readonly configFile: string
  /** Writes a file and returns its path. */
  file(name: string, text: string): Promise<string>
  start(words: readonly string[], options?: { env?: Record<string, string>; cwd?: string; input?: string }): Started
  run(words: readonly string[], options?: { env?: Record<string, string>; cwd?: string; input?: string }): Promise<Finished>
  /**
   * Like `run`, but in this process: for tests of what many commands do, in which the program would only start again and again. It has no standard input, and
   * the working directory of the test.
   */
  call(words: readonly string[], options?: { env?: Record<string, string> }): Promise<Finished>
  [Symbol.asyncDispose](): Promise<void>
}

/** A separate folder with its own contexts, so that tests do not touch those of the user. */
export async function openSandbox(): Promise<Sandbox> {
  const folder = await memoryFolder('windlass-cli-')
  const images = await ensureImages('shell', 'tools')
  const configFile = join(folder, 'config.yaml')
  const environmentWith = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => {
    const { WINDLASS_URL: _url, WINDLASS_API_KEY: _key, ...inherited } = process.env
    return { ...inherited, NO_COLOR: '1', WINDLASS_CONFIG: configFile, ...more }
  }
  const start: Sandbox['start'] = (words, options = {}) =>
    watch(spawn(WINDLASS, words, { env: environmentWith(options.env), cwd: options.cwd ?? folder }), options.input ?? '')
  return {
    folder,
    images,
    configFile,
    file: async (name, text) => {
      await writeFile(join(folder, name), text)
      return join(folder, name)
    },
    start,
    run: (words, options) => start(words, options).finished,
    call: (words, options) => callWindlass(words, environmentWith(options?.env)),
    async [Symbol.asyncDispose]() {
      await removeLocalRuns(folder)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Long enough for builds on a busy machine, and shorter than a test may last. Milliseconds. */
const SAID_WITHIN_MS = 300_000

/** Collects the output of a process, which gets `input` on its standard input. */
export function watch(child: ChildProcessWithoutNullStreams, input: string): Started {
  const texts = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (texts.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (texts.stderr += chunk.toString()))
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  let isClosed = false
  const finished = once(child, 'close').then(([code]): Finished => {
    isClosed = true
    return { code: typeof code === 'number' ? code : null, ...texts }
  })
  return {
    child,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    interrupt: () => child.kill('SIGINT'),
    finished,
    async says(text) {
      const isShown = (): boolean =>
        [texts.stdout, texts.stderr].some((output) => (typeof text === 'string' ? output.includes(text) : text.test(output)))
      for (const until = performance.now() + SAID_WITHIN_MS; !isShown(); await sleep(20))
        // The last output of a process arrives after its exit.
        if (performance.now() > until || isClosed)
          throw new Error(`expected output ${String(text)}, got: ${texts.stdout}${texts.stderr}`)
    },
  }
}

export interface Up {
  readonly url: string
  readonly port: number
  readonly data: string
  readonly adminKey: string
  /** Sends SIGKILL, which simulates a power failure. */
  kill9(): Promise<void>
  /** Restarts the server with the same port and data folder. */
  startAgain(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts `windlass up --detach` with its own data folder. */
export async function startUp(sandbox: Sandbox, name = 'data'): Promise<Up> {
  const port = await freePort()
  const data = join(sandbox.folder, name)
  const startAgain = async (): Promise<void> => {
    const { code, stderr } = await sandbox.run(['up', '--detach', '--port', String(port), '--data', data])
    if (code !== 0) throw new Error(`up ended with ${code}: ${stderr}`)
  }
  await startAgain()
  const found: { url: string; adminKey: string } = JSON.parse(await readFile(join(data, 'up.json'), 'utf8'))
  return {
    ...found,
    port,
    data,
    startAgain,
    async kill9() {
      const { pid }: { pid: number } = JSON.parse(await readFile(join(data, 'up.json'), 'utf8'))
      process.kill(pid, 'SIGKILL')
      // Wait until its port is free.
      while (
        await fetch(`${found.url}/healthz`).then(
          () => true,
          () => false,
        )
      )
        await sleep(20)
    },
    [Symbol.asyncDispose]: () => stopUp(sandbox, data),
  }
}

/** Stops the server of a data folder, and removes the containers and volumes of its builds. Does nothing if it is already stopped. */
export async function stopUp(sandbox: Sandbox, data: string): Promise<void> {
  const file = join(data, 'up.json')
  if (!existsSync(file)) return
  const server: { url: string; adminKey: string } = JSON.parse(await readFile(file, 'utf8'))
  const ids = await namesOnDaemon(server)
  await sandbox.run(['up', '--stop', '--data', data])
  await removeBuilds(ids)
}

/** Returns the ids in the volume names of this server's builds: builds and pipelines. Empty if it is not running. */
async function namesOnDaemon({ url, adminKey }: { url: string; adminKey: string }): Promise<string[]> {
  const { builds } = openClient({ url, token: adminKey, transport: nodeTransport() })
  const { items } = await builds.list({ query: { limit: 500 } }).catch(() => ({ items: [] }))
  return [...new Set(items.flatMap(({ id, pipelineId }) => (pipelineId === undefined ? [id] : [id, pipelineId])))]
}

/** Returns a document with one freestyle step per entry: name -> commands. */
export function pipelineOf(sandbox: Pick<Sandbox, 'images'>, steps: Readonly<Record<string, readonly string[]>>): string {
  const body = Object.entries(steps).map(([name, commands]) => [name, { image: sandbox.images['SHELL_IMAGE'], commands }])
  return JSON.stringify({ version: '1.0', steps: Object.fromEntries(body) }, null, 2)
}
