/** A terminal as an engine serves it, with a script instead of a shell. */
import { setTimeout as sleep } from 'node:timers/promises'
import { engineCalls } from '@windlass/client/engine'
import { TerminalPart, type DebugPhase, type TerminalEnd, type TerminalOutput } from '@windlass/protocol'
import type { TestEngine } from './fake-agent.ts'

/** Reports that the debugger holds a step. */
export async function holdStep(engine: TestEngine, step: string, phase: DebugPhase = 'override'): Promise<void> {
  await engine.event({ type: 'step.waiting', step, reason: 'debugger', phase })
}

export interface FakeTerminal extends AsyncDisposable {
  /** All keys so far. */
  readonly keys: () => string
  /** The sizes so far, as `80x24`. */
  readonly sizes: readonly string[]
  /** Writes to the terminal and to its recording. */
  say(text: string): Promise<void>
  end(end?: TerminalEnd): Promise<void>
}

const RETRY_MS = 50

/** Serves a terminal. `answer` returns what the program writes for keys. Calls are repeated while the server is away. */
export function serveTerminal(engine: TestEngine, id: string, answer?: (keys: string) => string): FakeTerminal {
  const calls = engineCalls(engine.client)
  const over = new AbortController()
  const sizes: string[] = []
  let keys = ''
  let typed = 0
  let said = 0
  let sending = Promise.resolve()

  const send = (part: Pick<TerminalOutput, 'output' | 'end'>): Promise<void> => {
    sending = sending.then(async () => {
      said += 1
      while (!over.signal.aborted) {
        const isSent = await calls.sendOutput(id, { ...part, seq: said, ackSeq: typed }, { signal: over.signal }).then(
          () => true,
          () => false,
        )
        if (isSent) return
        await sleep(RETRY_MS)
      }
    })
    return sending
  }
  const say = async (text: string): Promise<void> => {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += 32_768) await send({ output: bytes.subarray(at, at + 32_768).toString('base64') })
  }
  const apply = async (part: TerminalPart): Promise<void> => {
    if ('columns' in part) {
      sizes.push(`${part.columns}x${part.rows}`)
      return
    }
    const text = Buffer.from(part.keys, 'base64').toString()
    keys += text
    const reply = answer?.(text) ?? ''
    if (reply !== '') await say(reply)
  }
  const reading = (async () => {
    while (!over.signal.aborted) {
      try {
        for await (const event of calls.followTerminal(id, { query: { after: typed }, signal: over.signal })) {
          if (event.event === 'end') return
          const seq = Number(event.id)
          if (seq <= typed) continue
          typed = seq
          await apply(TerminalPart.parse(JSON.parse(event.data)))
        }
      } catch {
        // The server is away.
      }
      await sleep(RETRY_MS)
    }
  })()
  return {
    keys: () => keys,
    sizes,
    say,
    end: (end = { exitCode: 0 }) => send({ end }),
    async [Symbol.asyncDispose]() {
      over.abort()
      await reading
    },
  }
}
