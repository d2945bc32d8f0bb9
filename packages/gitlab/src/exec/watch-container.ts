/** Follows a container until it ends, and keeps the last lines of its output: the daemon stores none. */
import type { Docker } from '@windlass/engine/docker'

export interface Watched {
  readonly id: string
  /** Resolves when the container has ended. Rejects if the daemon is lost. */
  readonly ended: Promise<{ readonly exitCode: number; readonly tail: string }>
}

/** Longest output that is kept, and longest line that is passed on. Characters. */
const TAIL = 2_000
const MAX_LINE = 8_192

/** Watches a container that is not started yet. `onLine` takes each line of its output. */
export async function watchContainer(docker: Docker, id: string, onLine?: (line: string) => void): Promise<Watched> {
  const attachment = await docker.attachContainer(id, { stdin: false })
  const { exited } = await docker.watchExit(id)
  const follow = async (): Promise<string> => {
    let tail = ''
    let rest = ''
    for await (const parts of attachment.output) {
      const text = parts.map(({ bytes }) => bytes.toString('utf8')).join('')
      tail = (tail + text).slice(-TAIL)
      if (onLine === undefined) continue
      const lines = (rest + text).split('\n')
      rest = (lines.pop() ?? '').slice(0, MAX_LINE)
      for (const line of lines) onLine(line.slice(0, MAX_LINE))
    }
    if (rest !== '') onLine?.(rest)
    return tail
  }
  const output = follow()
  output.catch(() => undefined)
  const ended = exited.then(async (exitCode) => ({ exitCode, tail: await output.catch(() => '') }))
  ended.catch(() => undefined)
  return { id, ended }
}
