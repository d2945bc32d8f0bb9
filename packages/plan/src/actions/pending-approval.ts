/** Kind pending-approval: waits for a decision of a user. */
import type { ActionKind } from './action-kind.ts'

/** Waits for a decision of a user. The attempt ends meanwhile, so that it holds no pods. */
export interface ApprovalAction {
  readonly kind: 'pending-approval'
  readonly timeoutMs: number
  readonly finalState: 'approved' | 'denied' | 'terminated'
}

export const pendingApproval = {
  performedBy: 'user',
  resolve: (action) => action,
  subject: ({ timeoutMs, finalState }) => `${timeoutMs / 3_600_000} h, then ${finalState}`,
  images: () => [],
  refersTo: 'directory',
  usesServices: false,
  canOverride: false,
  fillsVolume: false,
} satisfies ActionKind<ApprovalAction>
