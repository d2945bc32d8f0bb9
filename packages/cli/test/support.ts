/** The real command against real servers: every test spawns `./windlass`, as a user does. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ensureImages } from '../../../e2e/support/images.ts'
import { freePort } from '../../../e2e/support/process.ts'

const launcher = join(import.meta.dirname, '../../../windlass')

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcessWithoutNullStreams
  stdout(): string
  stderr(): string
  /** Resolves once standard output or standard error holds the text. */
  says(text: string | RegExp, withinMs?: number): Promise<void>
  /** Sends SIGINT, as Ctrl-C does. */
  interrupt(): void
  readonly finished: Promise<Finished>
}

export interface Desk {
  readonly folder: string
  /** `SHELL_IMAGE` and the like. */
  readonly images: Readonly<Record<string, string>>
  readonly configFile: string
  /** Writes a file and returns its path. */
  file(name: string, text: string): Promise<string>
  start(words: readonly string[], options?: { env?: Record<string, string>; cwd?: string; input?: string }): Started
  run(words: readonly string[], options?: { env?: Record<string, string>; cwd?: string; input?: string }): Promise<Finished>
  [Symbol.asyncDispose](): Promise<void>
}

/** A folder and contexts of its own, so that tests leave those of the user alone. */
export async function openDesk(): Promise<Desk> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-cli-'))
  const images = await ensureImages('shell', 'tools')
  const configFile = join(folder, 'config.yaml')
  const start: Desk['start'] = (words, options = {}) => {
    const { WINDLASS_URL: _url, WINDLASS_API_KEY: _key, ...inherited } = process.env
    const env = { ...inherited, NO_COLOR: '1', WINDLASS_CONFIG: configFile, ...options.env }
    return watch(spawn(launcher, words, { env, cwd: options.cwd ?? folder }), options.input ?? '')
  }
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
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

function watch(child: ChildProcessWithoutNullStreams, input: string): Started {
  const texts = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (texts.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (texts.stderr += chunk.toString()))
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const finished = once(child, 'close').then(([code]): Finished => ({ code: typeof code === 'number' ? code : null, ...texts }))
  return {
    child,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    interrupt: () => child.kill('SIGINT'),
    finished,
    async says(text, withinMs = 30_000) {
      const isThere = (): boolean =>
        [texts.stdout, texts.stderr].some((said) => (typeof text === 'string' ? said.includes(text) : text.test(said)))
      for (const until = performance.now() + withinMs; !isThere(); await sleep(20))
        if (performance.now() > until || child.exitCode !== null)
          throw new Error(`it never said ${String(text)}, but: ${texts.stdout}${texts.stderr}`)
    },
  }
}

export interface Up {
  readonly url: string
  readonly port: number
  readonly data: string
  readonly adminKey: string
  /** SIGKILL, as a power cut would. */
  kill9(): Promise<void>
  /** Starts it again on the same port and data. */
  startAgain(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** `windlass up --detach` with a data folder of its own. */
export async function startUp(desk: Desk, name = 'data'): Promise<Up> {
  const port = await freePort()
  const data = join(desk.folder, name)
  const startAgain = async (): Promise<void> => {
    const { code, stderr } = await desk.run(['up', '--detach', '--port', String(port), '--data', data])
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
      // Until its port is free again.
      while (
        await fetch(`${found.url}/healthz`).then(
          () => true,
          () => false,
        )
      )
        await sleep(20)
    },
    async [Symbol.asyncDispose]() {
      await desk.run(['up', '--stop', '--data', data])
    },
  }
}

/** A document with one freestyle step per entry: name -> commands. */
export function pipelineOf(desk: Pick<Desk, 'images'>, steps: Readonly<Record<string, readonly string[]>>): string {
  const body = Object.entries(steps).map(([name, commands]) => [name, { image: desk.images['SHELL_IMAGE'], commands }])
  return JSON.stringify({ version: '1.0', steps: Object.fromEntries(body) }, null, 2)
}
