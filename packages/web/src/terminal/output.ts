/**
 * The output of terminals that this tab follows. The page keeps what it has received, because the document of a terminal can be put into the page again
 * while the stream goes on after the last part.
 */
import { fromBase64 } from '@windlass/client/terminal'
import type { StreamEvent, TerminalEnd } from '@windlass/protocol'
import { followTopics, observeLiveness } from '../server/stream.ts'

export interface TerminalPlace {
  readonly build: string
  readonly terminal: string
}

export type TerminalNews =
  /** Parts come in the order of their numbers, each once. A number that is missing was dropped by the server, or had no output. */
  | { readonly kind: 'output'; readonly seq: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'end'; readonly end: TerminalEnd }
  | { readonly kind: 'problem'; readonly message: string }
  /** The stream with the output is open: what was there before comes first. */
  | { readonly kind: 'open' }
  /** `isLive`: output arrives. */
  | { readonly kind: 'connection'; readonly isLive: boolean }

type Listener = (news: TerminalNews) => void

interface Followed {
  readonly parts: Extract<TerminalNews, { kind: 'output' }>[]
  readonly listeners: Set<Listener>
  bytes: number
  last: number
  end: TerminalNews | undefined
  stop: (() => void) | undefined
}

/** Output that is kept of each terminal, as much as the server keeps. Bytes. */
const KEPT_BYTES = 262_144

const all = new Map<string, Followed>()

/** Follows a terminal from the first output that is kept, until the returned function is called. */
export function followTerminal({ build, terminal }: TerminalPlace, listen: Listener): () => void {
  const topic = `terminal:${build}:${terminal}`
  const followed: Followed = all.get(topic) ?? {
    parts: [],
    listeners: new Set(),
    bytes: 0,
    last: 0,
    end: undefined,
    stop: undefined,
  }
  all.set(topic, followed)
  for (const part of followed.parts) listen(part)
  if (followed.end !== undefined) listen(followed.end)
  followed.listeners.add(listen)
  const stopWatching = observeLiveness((liveness) => listen({ kind: 'connection', isLive: liveness === 'live' }))
  followed.stop ??= followTopics(topic, [`${topic}:${followed.last}`], (event) => take(followed, event))
  return () => {
    stopWatching()
    followed.listeners.delete(listen)
    if (followed.listeners.size > 0) return
    followed.stop?.()
    followed.stop = undefined
  }
}

function take(followed: Followed, { event, data }: StreamEvent): void {
  const hand = (news: TerminalNews): void => {
    for (const listen of followed.listeners) listen(news)
  }
  if (event === 'terminal') {
    if (data.seq <= followed.last) return
    const part = { kind: 'output', seq: data.seq, bytes: fromBase64(data.bytes) } as const
    followed.last = data.seq
    followed.parts.push(part)
    followed.bytes += part.bytes.length
    while (followed.bytes > KEPT_BYTES) followed.bytes -= followed.parts.shift()?.bytes.length ?? followed.bytes
    hand(part)
  } else if (event === 'end') {
    if (followed.end !== undefined) return
    followed.end = { kind: 'end', end: data.terminal ?? {} }
    hand(followed.end)
  } else if (event === 'open') hand({ kind: 'open' })
  else if (event === 'problem') hand({ kind: 'problem', message: data.message })
}
