/** Decisions about approvals. */
import type { AccountSettings } from '@windlass/protocol'

export type Decision = 'approve' | 'deny'

export const DECISION_VERBS = { approve: 'Approve', deny: 'Deny' } as const satisfies Record<Decision, string>

/** Returns the body of the call that decides an approval. The approval of a start has no step. */
export function decisionInput(step: string, comment: string): { readonly step?: string; readonly comment?: string } {
  return { ...(step !== '' && { step }), ...(comment.trim() !== '' && { comment: comment.trim() }) }
}

/** Which decisions each value of the setting asks about once more. */
const ASKED: Readonly<Record<AccountSettings['approvalConfirmation'], readonly Decision[]>> = {
  none: [],
  all: ['approve', 'deny'],
  approve: ['approve'],
  reject: ['deny'],
}

/** Returns true if the account wants a decision to be asked about once more. */
export function isAskedAbout(decision: Decision, settings: Pick<AccountSettings, 'approvalConfirmation'> | undefined): boolean {
  return ASKED[settings?.approvalConfirmation ?? 'none'].includes(decision)
}
