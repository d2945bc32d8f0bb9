/** Whether a build would start, and what it would do, in few words. */
import { formatDuration } from '../duration.ts'
import type { StepForecast } from '../preview/preview.ts'
import { formatHolders, type Wait } from './waiting.ts'

/** The forecast of the start of a build, as it comes in answers of the server. */
export interface StartForecast {
  /** Why it would end before its first step. */
  readonly missing?: string | undefined
  readonly wait?:
    | (Wait & {
        readonly reason: string
        readonly message?: string | undefined
        /** Forecast of the time until a holder ends. Milliseconds. */
        readonly nextMs?: number | undefined
      })
    | undefined
}

/** Returns whether a build would start at once, wait or fail. */
export function describeStart({ missing, wait }: StartForecast): string {
  if (missing !== undefined) return `It would fail: ${missing}`
  if (wait === undefined) return 'It would start at once.'
  const { reason, message, used, limit, place, nextMs } = wait
  const held = used === undefined || limit === undefined ? '' : ` (${used} of ${limit}${formatHolders(wait)})`
  const next = nextMs === undefined ? '' : `, a place is free in about ${formatDuration(nextMs)}`
  return `It would wait at place ${place ?? 1}${next}: ${message ?? reason}${held}`
}

const COUNTED: readonly (readonly [StepForecast, string, string])[] = [
  ['runs', 'step runs', 'steps run'],
  ['depends', 'depends', 'depend'],
  ['skipped', 'is skipped', 'are skipped'],
  ['fails', 'has an invalid condition', 'have an invalid condition'],
]

/** Returns what becomes of the steps, such as `6 steps run, 1 depends, 2 are skipped`. */
export function describeForecasts(steps: readonly { readonly forecast: StepForecast }[]): string {
  const counts = COUNTED.map(([forecast, one, several]) => {
    const count = steps.filter((step) => step.forecast === forecast).length
    return forecast === 'runs' || count > 0 ? `${count} ${count === 1 ? one : several}` : ''
  })
  return counts.filter((part) => part !== '').join(', ')
}
