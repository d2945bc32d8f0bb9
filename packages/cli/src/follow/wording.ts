/** Sentences about outcomes. */
import { REASONS, type Reason } from '@windlass/plan'

/** A text field of an event's data; undefined when there is none. */
export function textField(data: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = data[name]
  return typeof value === 'string' ? value : undefined
}

/** Why a step or build ended as it did, in one sentence: its own message, or the text of its reason. */
export function describeOutcome(outcome: Readonly<Record<string, unknown>>): string {
  const reason = textField(outcome, 'reason')
  const message = textField(outcome, 'message')
  if (message !== undefined && message !== '') return message
  if (reason === 'exit-code' && typeof outcome['exitCode'] === 'number') return `exit code ${outcome['exitCode']}`
  return textOfReason(reason) ?? textField(outcome, 'status') ?? ''
}

/** What a person is told about a reason; undefined for none. */
export function textOfReason(reason: string | undefined): string | undefined {
  if (reason === undefined) return undefined
  return isReason(reason) ? REASONS[reason].text : reason
}

function isReason(reason: string): reason is Reason {
  return Object.hasOwn(REASONS, reason)
}
