/** Step type pending-approval. */
import type { ApprovalAction } from '@windlass/plan'
import { APPROVAL } from '../language/control-fields.ts'
import * as read from '../language/fields.ts'
import type { BuiltInStepType } from '../language/step-type.ts'
import type { Entry } from '../syntax/tree.ts'

const UNIT_MS = { hours: 3_600_000, minutes: 60_000 } as const
const DEFAULT_HOURS = 168

export const pendingApproval: BuiltInStepType<ApprovalAction> = {
  about: 'Waits for an approval.',
  fields: APPROVAL,
  open: false,
  checkContext: undefined,
  toAction(entries) {
    const timeout = read.map(entries, 'timeout')?.entries ?? new Map<string, Entry>()
    const unit = read.text(timeout, 'timeUnit') === 'minutes' ? 'minutes' : 'hours'
    const finalState = read.text(timeout, 'finalState')
    return {
      kind: 'pending-approval',
      timeoutMs: Math.round((read.number(timeout, 'duration') ?? DEFAULT_HOURS) * UNIT_MS[unit]),
      finalState: finalState === 'approved' || finalState === 'denied' ? finalState : 'terminated',
    }
  },
}
