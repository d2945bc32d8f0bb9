/** Results of checks, within the limits of a report. Messages of others can have URLs with logins, which stay here. */
import { hideLogin } from '@windlass/kit'
import type { CheckResult } from '@windlass/protocol'

const MAX_TEXT = 1_000

export function ok(description: string): CheckResult {
  return { status: 'successful', description: cut(description) }
}

export function failed(description: string, hint: string): CheckResult {
  return { status: 'failed', description: cut(description), hint: cut(hint) }
}

export function unknown(description: string): CheckResult {
  return { status: 'unknown', description: cut(description) }
}

export function cut(text: string): string {
  return hideLogin(text).slice(0, MAX_TEXT)
}
