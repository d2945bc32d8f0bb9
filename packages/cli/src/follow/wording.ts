/** Texts for outcomes. */
import { textOfReason } from '@windlass/plan'

/** Returns a text field of an event's data, if any. */
export function textField(data: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = data[name]
  return typeof value === 'string' ? value : undefined
}

/** Returns why a step or build ended: its message, or the text of its reason. */
export function describeOutcome(outcome: Readonly<Record<string, unknown>>): string {
  const reason = textField(outcome, 'reason')
  const message = textField(outcome, 'message')
  if (message !== undefined && message !== '') return message
  if (reason === 'exit-code' && typeof outcome['exitCode'] === 'number') return `exit code ${outcome['exitCode']}`
  return textOfReason(reason) ?? textField(outcome, 'status') ?? ''
}

/** Returns true for the short wait of each first build on a new disk, which is not shown. */
export function isPassing(data: Readonly<Record<string, unknown>>): boolean {
  const isOfDisk = textField(data, 'reason') === 'disk-unavailable'
  return isOfDisk && textField(data, 'message')?.includes('unbound immediate PersistentVolumeClaims') === true
}
