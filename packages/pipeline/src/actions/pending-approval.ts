/** Steps of type pending-approval (pipeline language 2.11). */
import { APPROVAL } from '../control-fields.ts'
import * as read from '../fields.ts'
import type { StepType } from '../step-type.ts'
import type { Entry } from '../tree.ts'

const UNIT_MS = { hours: 3_600_000, minutes: 60_000 } as const
const USUAL_HOURS = 168

export const pendingApproval: StepType = {
  about: 'Waits for somebody to approve.',
  fields: APPROVAL,
  open: false,
  toAction(entries) {
    const timeout = read.map(entries, 'timeout')?.entries ?? new Map<string, Entry>()
    const unit = read.text(timeout, 'timeUnit') === 'minutes' ? 'minutes' : 'hours'
    const finalState = read.text(timeout, 'finalState')
    return {
      kind: 'pending-approval',
      timeoutMs: Math.round((read.number(timeout, 'duration') ?? USUAL_HOURS) * UNIT_MS[unit]),
      finalState: finalState === 'approved' || finalState === 'denied' ? finalState : 'terminated',
    }
  },
}
