/** Runs commands of the public client one after the other in one process (`repeat.cjs`), which takes a tenth of the processor time. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Finished } from '../../packages/cli/test/support.ts'
import { NODE } from '../support/programs.ts'

const REPEAT = join(import.meta.dirname, 'repeat.cjs')
/** A command that exits may leave connections or timers behind. After this time they end with the process. Milliseconds. */
const IDLE_WITHIN_MS = 1_000

export class Commands implements AsyncDisposable {
  readonly #program: string
  readonly #folder: string
  #child: ChildProcess | undefined
  #last: Promise<unknown> = Promise.resolve()

  /** `folder` is the working directory of the commands. */
  constructor(program: string, folder: string) {
    this.#program = program
    this.#folder = folder
  }

  /** Runs a command after those that were given before it. */
  run(words: readonly string[], env: Readonly<Record<string, string>>): Promise<Finished> {
    const finished = this.#last.then(() => this.#runNow(words, env))
    this.#last = finished.catch(() => undefined)
    return finished
  }

  async #runNow(words: readonly string[], env: Readonly<Record<string, string>>): Promise<Finished> {
    const child = (this.#child ??= fork(REPEAT, [this.#program], {
      execPath: NODE,
      execArgv: [],
      cwd: this.#folder,
      env,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }))
    const { promise, resolve, reject } = Promise.withResolvers<Finished>()
    const idle = Promise.withResolvers<boolean>()
    const hear = (message: Finished | 'idle'): void => (message === 'idle' ? idle.resolve(true) : resolve(message))
    const fail = (): void => reject(new Error(`the process of codefresh ${words.join(' ')} ended`))
    child.on('message', hear).once('exit', fail)
    child.send({ words, env })
    const finished = await promise.finally(() => child.off('exit', fail))
    const late = setTimeout(() => idle.resolve(false), IDLE_WITHIN_MS)
    if (!(await idle.promise)) await this.#end()
    clearTimeout(late)
    child.off('message', hear)
    return finished
  }

  async #end(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last
    await this.#end()
  }
}
