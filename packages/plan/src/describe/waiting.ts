/** The progress of a build, and what it waits for, in few words. */
import type { Progress } from '../state/progress.ts'

/** The limit that a build waits for, and its place among the builds that wait for the same. */
export interface Wait {
  readonly reason?: string | undefined
  readonly place?: number | undefined
  readonly used?: number | undefined
  readonly limit?: number | undefined
  readonly holders?: readonly { readonly number: number }[] | undefined
}

/** A progress as it comes in answers of the server. */
export type ShownProgress = Omit<Progress, 'current'> & { readonly current?: string | undefined }

/** `3/9 unit_tests`, with the number of failed steps if there are any; empty without progress. */
export function formatProgress(progress: ShownProgress | undefined): string {
  if (progress === undefined) return ''
  const { done, total, failed, current } = progress
  return [`${done}/${total}`, failed > 0 ? `(${failed} failed)` : '', current ?? ''].filter((part) => part !== '').join(' ')
}

/** `next, behind #812`, `place 2, 3 of 3 run`; empty if nothing is known beyond the reason. */
export function formatWaiting(waiting: Wait | undefined): string {
  if (waiting === undefined) return ''
  const { place, used, limit, holders = [] } = waiting
  const parts = [place === undefined ? '' : place === 1 ? 'next' : `place ${place}`]
  if (holders.length > 0) parts.push(`behind ${numbersOf(waiting)}`)
  else if (used !== undefined && limit !== undefined) parts.push(`${used} of ${limit} run`)
  return parts.filter((part) => part !== '').join(', ')
}

/** ` by #812 #815`, with `…` if more builds hold the limit; empty if none is known. */
export function formatHolders(held: Held): string {
  return (held.holders ?? []).length === 0 ? '' : ` by ${numbersOf(held)}`
}

type Held = Pick<Wait, 'holders' | 'used'>

function numbersOf({ holders = [], used = 0 }: Held): string {
  const numbers = holders.map(({ number }) => `#${number}`)
  return `${numbers.join(' ')}${used > holders.length ? ' …' : ''}`
}
