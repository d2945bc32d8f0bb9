/** Records of the audit log as comma-separated values (RFC 4180). */
import type { AuditRecord } from './audit.ts'

export type AuditColumn = keyof AuditRecord

/** Returns the line with the names of the columns. */
export function auditHeading(columns: readonly AuditColumn[]): string {
  return `${columns.join(',')}\r\n`
}

/** Returns the line of a record. A cell that a spreadsheet would run as a formula begins with an apostrophe. */
export function auditLine(record: AuditRecord, columns: readonly AuditColumn[]): string {
  const cells = columns.map((column) => toCell(column === 'at' ? new Date(record.at).toISOString() : record[column]))
  return `${cells.join(',')}\r\n`
}

function toCell(value: string | number | undefined): string {
  const text = String(value ?? '')
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
