/** What an event would start: the ladder of each trigger as it is now. Nothing is started. */
import { useMutation } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import { NO_BUILD_REASONS, type Delivery, type TriggerTest, type TriggerTestInput } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Ladders } from '../deliveries/ladder.tsx'
import layout from '../parts/layout.module.css'
import { calls } from './calls.ts'

/** Returns the event of a delivery as input of a test; undefined if its body is not stored, or if it is the end of a build. */
export function testInputOf({ forge, registry, event, body }: Delivery): TriggerTestInput | undefined {
  if (body === undefined || (forge === undefined && registry === undefined)) return undefined
  return {
    body,
    ...(forge !== undefined && { forge }),
    ...(registry !== undefined && { registry }),
    ...(event !== undefined && { event }),
  }
}

export interface TriggerTrial {
  readonly result: TriggerTest | undefined
  readonly error: unknown
  readonly isBusy: boolean
  /** Why it cannot be tested. */
  readonly off: string | undefined
  readonly run: () => void
}

/** Tests the event of a delivery against the triggers as they are now. */
export function useDeliveryTest(delivery: Delivery): TriggerTrial {
  const input = testInputOf(delivery)
  const trial = useMutation({ mutationFn: (given: TriggerTestInput) => calls.triggers.test(given) })
  return {
    result: trial.data,
    error: trial.error,
    isBusy: trial.isPending,
    off: input === undefined ? 'The event has no stored body that could be tested.' : undefined,
    run: () => input !== undefined && trial.mutate(input),
  }
}

/** Tells what would happen, first in one sentence. */
export function TestResult({ result }: { readonly result: TriggerTest }): ReactElement {
  const { triggers, reason, message, events } = result
  const count = triggers.filter((one) => one.reason === undefined).length
  const why = message ?? (reason === undefined ? '' : NO_BUILD_REASONS[reason])
  return (
    <section className={layout['stack']} aria-label="What would happen">
      <div className={layout['once']} role="status">
        <strong>
          {count === 0
            ? `The event would start nothing.${triggers.length === 0 ? ` ${why}` : ''}`
            : `The event would start ${plural(count, 'build')}.`}
        </strong>
        <span>
          Nothing was started.{' '}
          {events.length > 0 && (
            <>
              The event is <bdi>{events.join(', ')}</bdi>.
            </>
          )}
        </span>
      </div>
      <Ladders verdicts={triggers} />
    </section>
  )
}
