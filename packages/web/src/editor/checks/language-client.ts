/** Asks the worker that knows the language. */
import type { Answered, Questions } from './language.ts'

export interface Language {
  /** Resolves with the answer. Never settles after `close`. */
  ask<K extends keyof Questions>(kind: K, input: Questions[K]['input']): Promise<Questions[K]['answer']>
  close(): void
}

/** Starts a worker. The caller must close it. */
export function openLanguage(): Language {
  const worker = new Worker(new URL('./language-worker.ts', import.meta.url), { type: 'module' })
  const waiting = new Map<number, (answer: never) => void>()
  let last = 0
  worker.addEventListener('message', ({ data: { id, answer } }: MessageEvent<Answered>) => {
    waiting.get(id)?.(answer as never)
    waiting.delete(id)
  })
  return {
    ask(kind, input) {
      last += 1
      const id = last
      return new Promise((resolve) => {
        waiting.set(id, resolve)
        worker.postMessage({ ...input, kind, id })
      })
    },
    close: () => worker.terminate(),
  }
}
