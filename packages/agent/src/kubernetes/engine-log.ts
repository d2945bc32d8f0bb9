/** Reads the end of an engine pod's log, for a build whose engine does not call the server. */
import { refOf, type Kube } from '@windlass/kube'
import { LABEL } from '@windlass/protocol'
import { z } from 'zod'
import type { AttemptRef } from '../executor.ts'

const TAIL_LINES = 5
const MAX_CHARS = 4_000
/** The engine logs JSON lines with the message in `msg`. */
const Line = z.looseObject({ msg: z.string() })

export interface EngineLog {
  /** Name of the pod. */
  readonly object: string
  /** The last lines as plain text. */
  readonly text: string
}

/** Reads the end of the log of an attempt's engine. Returns undefined if there is no pod or its log is empty. */
export async function readEngineLog(
  { kube, namespaces }: { kube: Kube; namespaces: readonly string[] },
  { buildId, attempt }: AttemptRef,
  signal: AbortSignal,
): Promise<EngineLog | undefined> {
  const labels = `${LABEL.build}=${buildId},${LABEL.attempt}=${attempt},${LABEL.app}=runtime`
  const found = await Promise.all(namespaces.map((namespace) => kube.list({ kind: 'Pod', namespace, labels }, signal)))
  const pod = found.flat()[0]
  if (pod === undefined) return undefined
  const log = await kube.logs(refOf(pod), { container: 'engine', tailLines: TAIL_LINES, signal })
  const text = readableLines(log)
  return text === '' ? undefined : { object: pod.metadata.name, text }
}

/** Returns the messages of JSON lines and the other lines as they are, without duplicates. */
export function readableLines(log: string): string {
  const lines = log.split('\n').map((line) => {
    if (!line.startsWith('{')) return line.trim()
    try {
      return Line.parse(JSON.parse(line)).msg
    } catch {
      return line
    }
  })
  return [...new Set(lines.filter((line) => line !== ''))].join('\n').slice(-MAX_CHARS)
}
