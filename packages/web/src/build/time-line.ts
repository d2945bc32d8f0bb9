/** Places of bars on the time line of a build. Pure. */

/** From the start of the build to its end or now. Epoch milliseconds. */
export interface Span {
  readonly from: number
  readonly to: number
}

interface Timed {
  readonly startedAt?: number | undefined
  readonly finishedAt?: number | undefined
  readonly carried?: boolean | undefined
}

/** The narrowest bar that can be seen. Percent. */
const NARROWEST = 0.6

/** Returns the place of a bar in percent of the span; undefined for a step that has not started, or that ran in another build. */
export function barOf(
  { startedAt, finishedAt, carried }: Timed,
  { from, to }: Span,
  now: number,
): { readonly left: number; readonly width: number } | undefined {
  if (startedAt === undefined || carried === true) return undefined
  const share = (time: number): number => (Math.min(Math.max(time - from, 0), to - from) / (to - from)) * 100
  const left = Math.min(share(startedAt), 100 - NARROWEST)
  return { left, width: Math.max(share(finishedAt ?? now) - left, NARROWEST) }
}
