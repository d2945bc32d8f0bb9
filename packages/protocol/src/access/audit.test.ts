import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { AUDIT_START, auditText, openAuditCheck, type AuditRecord } from './audit.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Returns a chain of records. */
function chainOf(count: number): AuditRecord[] {
  const records: AuditRecord[] = []
  for (let seq = 1; seq <= count; seq += 1) {
    const record = {
      seq,
      at: 1000 + seq,
      kind: 'key',
      actorId: 'k',
      actor: 'ci',
      action: 'PUT /v1/x',
      target: `/v1/x/${seq}`,
      result: 'done' as const,
      address: '127.0.0.1',
      requestId: `r${seq}`,
      hash: '',
      ...(seq % 2 === 0 && { owner: 'mira', detail: 'a' }),
    }
    records.push({ ...record, hash: sha256(auditText(records.at(-1)?.hash ?? AUDIT_START, record)) })
  }
  return records
}

function firstProblem(records: readonly AuditRecord[], start = { seq: 0, hash: AUDIT_START }): string | undefined {
  const check = openAuditCheck(start, sha256)
  return records.map(check).find((problem) => problem !== undefined)
}

test('accepts a chain, and one whose beginning was deleted because of its age', () => {
  const records = chainOf(5)
  expect(firstProblem(records)).toBeUndefined()
  expect(firstProblem(records.slice(2), { seq: 2, hash: records[1]?.hash ?? '' })).toBeUndefined()
})

test('finds a change of every field', () => {
  const fields = Object.keys(chainOf(2)[1] ?? {}).filter((field) => !['seq', 'hash'].includes(field))
  expect(fields).toHaveLength(11)
  for (const field of fields) {
    const records = chainOf(4)
    const changed = records.map((record) => (record.seq === 2 ? { ...record, [field]: field === 'at' ? 1 : 'x' } : record))
    expect([field, firstProblem(changed as AuditRecord[])]).toEqual([field, 'record 2 was changed, or the record before it'])
  }
})

test('finds an added, a removed and a moved record, and one that was hashed again alone', () => {
  const [a, b, c, d] = chainOf(4) as [AuditRecord, AuditRecord, AuditRecord, AuditRecord]
  expect(firstProblem([a, c, d])).toContain('record 2 is missing')
  expect(firstProblem([b, c, d])).toContain('record 1 is missing')
  expect(firstProblem([a, c, b, d])).toContain('record 2 is missing or out of order')
  expect(firstProblem([a, { ...c, seq: 2 }, { ...b, seq: 3 }, d])).toContain('record 2 was changed')
  const again = { ...b, actor: 'other' }
  const hashed = { ...again, hash: sha256(auditText(a.hash, again)) }
  expect(firstProblem([a, hashed, c, d])).toContain('record 3 was changed, or the record before it')
})

test('keeps the fields apart: a text cannot move from one field to the next', () => {
  const [record] = chainOf(1) as [AuditRecord]
  const one = auditText(AUDIT_START, { ...record, actor: 'a","b', action: 'c' })
  expect(one).not.toBe(auditText(AUDIT_START, { ...record, actor: 'a', action: 'b","c' }))
})
