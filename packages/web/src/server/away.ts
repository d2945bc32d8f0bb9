/** Whether the server answers. Each call and the stream report what they see. */
import { now } from '../looks/clock.ts'
import { createStore } from './store.ts'

export interface Silence {
  /** Time of the last answer, or of the start of the page. Epoch milliseconds. */
  readonly since: number
  /** When the page tries again. Epoch milliseconds. */
  readonly nextTryAt: number
}

/** Undefined while the server answers. */
export const silence = createStore<Silence | undefined>(undefined)

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 10_000
let answeredAt = now()
let wait = FIRST_WAIT_MS
let timer: ReturnType<typeof setTimeout> | undefined
const returns = new Set<() => void>()

/** Calls `back` each time the server answers again after a silence. Returns a function that ends this. */
export function onReturn(back: () => void): () => void {
  returns.add(back)
  return () => returns.delete(back)
}

/** Notes that the server has answered, with any status. */
export function reportAnswer(): void {
  answeredAt = now()
  wait = FIRST_WAIT_MS
  clearTimeout(timer)
  if (silence.get() === undefined) return
  silence.set(undefined)
  for (const back of returns) back()
}

/** Notes that a call got no answer, and starts trying until one arrives. */
export function reportSilence(): void {
  if (silence.get() === undefined) planTry()
}

/** Tries at once. */
export async function tryNow(): Promise<void> {
  clearTimeout(timer)
  try {
    const answer = await fetch('/healthz', { cache: 'no-store', signal: AbortSignal.timeout(5_000) })
    // A gateway answers for a server that is gone, also with 404.
    if (answer.ok) reportAnswer()
    else planTry()
  } catch {
    planTry()
  }
}

function planTry(): void {
  clearTimeout(timer)
  silence.set({ since: answeredAt, nextTryAt: now() + wait })
  timer = setTimeout(() => void tryNow(), wait)
  wait = Math.min(wait * 2, LONGEST_WAIT_MS)
}
