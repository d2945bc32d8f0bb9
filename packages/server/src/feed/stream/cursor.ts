/** The cursor of an event stream: the time up to which the account was read, and the position of every other topic. */
import { sha256 } from '@windlass/kit'

/** How far the changes of the account were sent. */
export interface AccountPlace {
  /** Changes before this time were sent. Epoch milliseconds. */
  readonly at: number
  /** Id of the loop that read them, because the times of another replica are less exact. */
  readonly loop: string
}

export interface Cursor {
  /** Undefined if the stream does not follow the account. */
  readonly account: AccountPlace | undefined
  /** Key of a topic -> position. */
  positionOf(key: string): number | undefined
}

const PATTERN = /^(?:(\d{1,15})-([0-9a-f]{8}))?((?:\.[0-9a-f]{10}-\d{1,15})*)$/

/** Parses a cursor. Returns an empty one for text that is not a cursor of this version, so that the stream starts anew. */
export function readCursor(text: string | undefined): Cursor {
  const [, at, loop, rest = ''] = PATTERN.exec(text ?? '') ?? []
  const positions = new Map(
    rest
      .split('.')
      .slice(1)
      .map((part): [string, number] => [part.slice(0, 10), Number(part.slice(11))]),
  )
  return {
    account: at === undefined || loop === undefined ? undefined : { at: Number(at), loop },
    positionOf: (key) => positions.get(shorten(key)),
  }
}

export interface CursorParts {
  readonly account: AccountPlace | undefined
  readonly positions: ReadonlyMap<string, number>
}

export function writeCursor({ account, positions }: CursorParts): string {
  const parts = [...positions].map(([key, position]) => `.${shorten(key)}-${position}`)
  const place = account === undefined ? '' : `${account.at}-${account.loop}`
  return `${place}${parts.join('')}`
}

const known = new Map<string, string>()
const MAX_KNOWN = 10_000

/** Returns a short name of a topic, because the cursor is part of every event. */
function shorten(key: string): string {
  const found = known.get(key)
  if (found !== undefined) return found
  if (known.size >= MAX_KNOWN) known.clear()
  const short = sha256(key).slice(0, 10)
  known.set(key, short)
  return short
}
