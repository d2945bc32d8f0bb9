/** The phases of a step: when its image was pulled, its services started, its container created, run, and its exports read. */
import type { Clock } from '@windlass/kit'
import type { PhaseStart, StepPhase } from '@windlass/protocol'

/** Phases that are shorter are reported only with the end of the step, so that short steps send no further events. Milliseconds. */
const LONG_MS = 1_000
/** Maximum phases that are reported. A step with many tries keeps the last ones. */
const MAX_PHASES = 100

/** Ends the last phase when it is disposed. */
export interface StepPhases extends Disposable {
  /** Begins a phase and ends the one before it. */
  begin(phase: StepPhase): void
  /** Ends the last phase. Returns all in order. */
  end(): PhaseStart[]
}

/** `onLong` is called when a phase has lasted for a second. */
export function openPhases({
  clock,
  onLong,
}: {
  readonly clock: Clock
  readonly onLong: (phase: PhaseStart) => void
}): StepPhases {
  const phases: PhaseStart[] = []
  let over = new AbortController()
  const end = (): PhaseStart[] => {
    over.abort(OVER)
    return [...phases]
  }
  return {
    begin(phase) {
      over.abort(OVER)
      over = new AbortController()
      const started = { phase, at: clock.now() }
      phases.push(started)
      if (phases.length > MAX_PHASES) phases.shift()
      clock.sleep(LONG_MS, over.signal).then(
        () => onLong(started),
        () => undefined,
      )
    },
    end,
    [Symbol.dispose]: () => void end(),
  }
}

const OVER = new DOMException('the phase is over', 'AbortError')
