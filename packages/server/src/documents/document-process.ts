/** The child process that handles documents: start, messages, CPU time and end. A crash of it, whatever the reason, leaves the server running. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import module from 'node:module'
import { dirname } from 'node:path'
import { defined, parseProcessStat } from '@windlass/kit'
import type { Order, Reply } from './document-worker.ts'

/** How the process ended by itself. `full` is a full heap. `killed` is SIGKILL, by an operator or by the kernel when the container is out of memory. */
export type Exit =
  | { readonly how: 'full' }
  | { readonly how: 'killed' }
  | { readonly how: 'not-started'; readonly err: unknown }
  | { readonly how: 'crashed'; readonly err: Error }

export interface Listeners {
  reply(reply: Reply): void
  /** Called at most once, and not after `end`. */
  exit(exit: Exit): void
}

/** Maximum depth of calls, for documents of the allowed depth. The stack of a process has 8 MiB. KiB. */
const STACK_KIB = 3_900

/** Returns the folder with the compiled code of this process, if it keeps some. Reading the modules is most of the start of a document process. */
function compileCache(): string | undefined {
  // Node 20 has no compile cache. Node adds a folder for its version.
  const folder = module.getCompileCacheDir?.()
  return folder === undefined ? undefined : dirname(folder)
}

export class DocumentProcess {
  private readonly child: ChildProcess | undefined
  private hasEnded = false

  /** Starts `script`. If the system cannot create a process, `exit` is called after the constructor returns. */
  constructor(script: URL, heapMiB: number, listeners: Listeners) {
    const ended = (exit: Exit): void => {
      if (this.hasEnded) return
      this.hasEnded = true
      listeners.exit(exit)
    }
    try {
      this.child = fork(script, {
        execArgv: [`--max-old-space-size=${heapMiB}`, '--max-semi-space-size=2', `--stack-size=${STACK_KIB}`],
        env: defined({ NODE_COMPILE_CACHE: compileCache() }),
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
    } catch (err) {
      setImmediate(ended, { how: 'not-started', err })
      return
    }
    const { child } = this
    child.on('message', (reply: Reply) => listeners.reply(reply))
    child.on('error', (err) => ended({ how: 'not-started', err }))
    child.on('exit', (code, signal) => {
      // V8 aborts at the limit of its heap.
      if (signal === 'SIGABRT') ended({ how: 'full' })
      else if (signal === 'SIGKILL') ended({ how: 'killed' })
      else ended({ how: 'crashed', err: new Error(`exit code ${code}, signal ${signal}`) })
    })
    child.unref()
    child.channel?.unref()
  }

  send(order: Order): void {
    // A process that is gone is reported by its exit.
    this.child?.send(order, () => undefined)
  }

  /** Returns the CPU time of the process, even while it is busy; 0 if it has ended. Milliseconds. Outside Linux, wall-clock time takes its place. */
  async cpuMs(): Promise<number> {
    if (process.platform !== 'linux') return performance.now()
    const stat = await readFile(`/proc/${this.child?.pid}/stat`, 'utf8').catch(() => '')
    return parseProcessStat(stat)?.cpuMs ?? 0
  }

  /** Ends the process. Resolves when it is gone. */
  async end(): Promise<void> {
    const { child } = this
    this.hasEnded = true
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.ref()
    child.kill('SIGKILL')
    await gone
  }
}
