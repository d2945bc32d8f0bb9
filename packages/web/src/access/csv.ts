/** Records of the audit log as CSV. */
import type { AuditRecord } from '@windlass/protocol'

const COLUMNS = [
  'seq',
  'at',
  'kind',
  'actor',
  'owner',
  'action',
  'target',
  'result',
  'code',
  'detail',
  'address',
  'client',
  'hash',
] as const

/** Returns the records with a line of names. A cell that a spreadsheet would take for a formula starts with an apostrophe. */
export function toCsv(records: readonly AuditRecord[]): string {
  const rows = records.map((record) => COLUMNS.map((name) => (name === 'at' ? new Date(record.at).toISOString() : record[name])))
  return [COLUMNS, ...rows].map((row) => `${row.map(cellOf).join(',')}\r\n`).join('')
}

function cellOf(value: string | number | undefined): string {
  const text = String(value ?? '')
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
