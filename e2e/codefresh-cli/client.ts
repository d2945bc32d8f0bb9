/** The public command line of Codefresh, unmodified, against a real `windlass up`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { openClient, type ApiClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { defined } from '@windlass/kit/defined'
import type { Build } from '@windlass/protocol'
import {
  openSandbox,
  startUp,
  watch,
  type Finished,
  type Sandbox,
  type Started,
  type Up,
} from '../../packages/cli/test/support.ts'
import { runProgram } from '../support/process.ts'
import { NODE } from '../support/programs.ts'
import { Commands } from './commands.ts'

const root = join(import.meta.dirname, '../..')
/** Makes the client load packages of few commands only when they are used. */
const DEFER = join(import.meta.dirname, 'defer.cjs')
/** Commands that follow a build, which print while they run and exit with its result. */
const FOLLOWING: ReadonlySet<string | undefined> = new Set(['run', 'restart', 'runner'])

export interface Codefresh extends AsyncDisposable {
  readonly url: string
  readonly key: string
  /** Our own client, to see the effect of a command. */
  readonly admin: ApiClient
  /** Name of an image with a shell. */
  readonly image: string
  readonly folder: string
  /** Writes a file and returns its path. Clients read the type of a file from its extension. */
  file(name: string, content: string | object): Promise<string>
  read(name: string): Promise<string>
  /** Starts a command as a process of its own, with these variables too. */
  start(words: readonly string[], env?: Readonly<Record<string, string>>): Started
  /** Runs a command: as a process of its own if it follows a build, otherwise in the process that all others share. */
  run(...words: string[]): Promise<Finished>
  /** Like `run`, with these variables too. */
  runWith(env: Readonly<Record<string, string>>, ...words: string[]): Promise<Finished>
  /** Runs a command with its standard output in a file. Returns its exit code. */
  runToFile(name: string, ...words: string[]): Promise<number | null>
  /** Runs a command that must succeed, and returns its standard output. */
  must(...words: string[]): Promise<string>
}

async function installedProgram(): Promise<string> {
  const printed = await runProgram(join(root, 'scripts/codefresh-cli/install'), [])
  const program = /CODEFRESH_CLI=(\S+)/.exec(printed)?.[1]
  if (program === undefined) throw new Error('scripts/codefresh-cli/install printed no path.')
  return program
}

/** Starts a server with a Docker agent, and signs the client in at it as an admin. */
export async function openCodefresh(): Promise<Codefresh> {
  await using closing = new AsyncDisposableStack()
  const sandbox = closing.use(await openSandbox())
  const up = closing.use(await startUp(sandbox))
  const codefresh = closing.use(await signIn(sandbox, up))
  const opened = closing.move()
  return { ...codefresh, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Signs the client in at a server as an admin. */
export async function signIn(sandbox: Sandbox, up: Up): Promise<Codefresh> {
  const program = await installedProgram()
  const home = join(sandbox.folder, 'home')
  await mkdir(home)
  const { url, adminKey: key } = up
  const context = { type: 'APIKey', name: 'admin', url, token: key, beta: false, onPrem: true }
  // The form in which `auth create-context` stores it; JSON is YAML.
  await writeFile(join(home, '.cfconfig'), JSON.stringify({ contexts: { admin: context }, 'current-context': 'admin' }))
  const { NODE_COMPILE_CACHE } = process.env
  const env = {
    PATH: `${dirname(NODE)}:/usr/bin:/bin`,
    HOME: home,
    NODE_NO_WARNINGS: '1',
    // The client loads a thousand files for each command.
    ...defined({ NODE_COMPILE_CACHE }),
  }
  const start: Codefresh['start'] = (words, more = {}) =>
    watch(spawn(NODE, ['--require', DEFER, program, ...words], { env: { ...env, ...more }, cwd: sandbox.folder }), '')
  const commands = new Commands(program, sandbox.folder)
  const runWith: Codefresh['runWith'] = (more, ...words) =>
    FOLLOWING.has(words[0]) ? start(words, more).finished : commands.run(words, { ...env, ...more })
  const run: Codefresh['run'] = (...words) => runWith({}, ...words)
  return {
    url,
    key,
    admin: openClient({ url, token: key, transport: nodeTransport() }),
    image: sandbox.images['SHELL_IMAGE'] ?? '',
    folder: sandbox.folder,
    file: (name, content) => sandbox.file(name, typeof content === 'string' ? content : JSON.stringify(content, null, 2)),
    read: (name) => readFile(join(sandbox.folder, name), 'utf8'),
    start,
    run,
    runWith,
    async runToFile(name, ...words) {
      await using file = await open(join(sandbox.folder, name), 'w')
      const child = spawn(NODE, ['--require', DEFER, program, ...words], {
        env,
        cwd: sandbox.folder,
        stdio: ['ignore', file.fd, 'ignore'],
      })
      await once(child, 'close')
      return child.exitCode
    },
    async must(...words) {
      const { code, stdout, stderr } = await run(...words)
      if (code !== 0) throw new Error(`codefresh ${words.join(' ')} ended with ${code}: ${stderr}${stdout}`)
      return stdout
    },
    [Symbol.asyncDispose]: () => commands[Symbol.asyncDispose](),
  }
}

/** Waits for the end of a build, also longer than a call of the server waits. */
export async function endOf(admin: ApiClient, id: string): Promise<Build> {
  for (;;) {
    const build = await admin.builds.wait(id, { query: { timeoutMs: 20_000 }, timeoutMs: 120_000 })
    if (build.finishedAt !== undefined) return build
  }
}

/** Returns the first id in an output. Throws if there is none. */
export function idIn(text: string): string {
  const id = /[0-9a-f]{24}/.exec(text)?.[0]
  if (id === undefined) throw new Error(`no id in: ${text}`)
  return id
}

/** Returns the words of each row of a table, without its heading. Colors are removed. */
export function rowsOf(table: string): string[][] {
  const lines = stripVTControlCharacters(table).split(/\r?\n\r?/)
  return lines.slice(1).flatMap((line) => (line.trim() === '' ? [] : [line.trim().split(/\s+/)]))
}
