/** Reads the commands of the server from the claim on, so that a request to stop also ends the waits before the first step. */
import type { AttemptOutcome, Command } from '@windlass/protocol'
import { StepStop } from '../attempt/step-outcome.ts'

export interface OpenCommands {
  /** All commands in order, for one reader. */
  readonly commands: AsyncIterable<Command>
  /** Aborted with a `StepStop` at the first request to stop. */
  readonly stop: AbortSignal
}

/** Starts to read `source` and keeps its commands until they are read. An error of `source` ends `commands`. */
export function openCommands(source: AsyncIterable<Command>): OpenCommands {
  const stop = new AbortController()
  const kept: Command[] = []
  let news = Promise.withResolvers<void>()
  let isOver = false
  async function receive(): Promise<void> {
    for await (const command of source) {
      kept.push(command)
      if (command.type === 'terminate') stop.abort(stopFor(command))
      news.resolve()
      news = Promise.withResolvers()
    }
  }
  async function* read(): AsyncGenerator<Command> {
    for (;;) {
      const { promise } = news
      for (let next = kept.shift(); next !== undefined; next = kept.shift()) yield next
      if (isOver) return
      await promise
    }
  }
  void receive()
    .catch(() => undefined)
    .then(() => {
      isOver = true
      news.resolve()
    })
  return { commands: read(), stop: stop.signal }
}

/** Returns what a request to stop means for the steps of the build. */
export function stopFor({ reason }: Extract<Command, { type: 'terminate' }>): StepStop {
  const message = reason === 'superseded' ? 'A newer build superseded this one.' : 'The build was terminated.'
  return new StepStop('terminated', reason, message)
}

/** Returns the outcome of an attempt that was stopped before its first step. */
export function stoppedOutcome({ status, reason, message }: StepStop): AttemptOutcome {
  return { status, reason, message }
}
