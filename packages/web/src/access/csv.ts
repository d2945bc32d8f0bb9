/** Records of the audit log as CSV. */
import { auditHeading, auditLine, type AuditRecord } from '@windlass/protocol'

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

/** Returns the records with a line of names. */
export function toCsv(records: readonly AuditRecord[]): string {
  return auditHeading(COLUMNS) + records.map((record) => auditLine(record, COLUMNS)).join('')
}
