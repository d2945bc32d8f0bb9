/** The audit log: who called what, from where, with which result. Each record contains a hash of itself and the record before it. */
import { z } from 'zod'
import { PageQuery, Time } from '../base.ts'

export const AUDIT_RESULTS = ['done', 'denied', 'failed'] as const

export const AuditRecord = z.object({
  /** 1, 2, 3 … without gaps. */
  seq: z.int(),
  at: Time,
  /** Kind of the credential: key, user, build, or `nobody` for a failed sign-in. */
  kind: z.string(),
  /** Id of the key, user or build. Empty for `nobody`. */
  actorId: z.string(),
  /** Name of the key, user or build; for a failed sign-in the name that was given. */
  actor: z.string(),
  /** Name of the user or service account that the key belongs to. */
  owner: z.string().optional(),
  /** Method and route: `POST /v1/builds/{id}/approve`. */
  action: z.string(),
  /** Path of the call, without secrets. */
  target: z.string(),
  /** `done`: recorded in the transaction of the first effect of the call. `denied`: the caller did not have the right. `failed`: another error. */
  result: z.enum(AUDIT_RESULTS),
  /** Code of the error. */
  code: z.string().optional(),
  /** What changed, in words, where the path does not say it. */
  detail: z.string().optional(),
  address: z.string(),
  /** `User-Agent` of the caller. */
  client: z.string().optional(),
  requestId: z.string(),
  /** SHA-256 of the hash before it, a newline, and the other fields as `auditText` writes them. */
  hash: z.string(),
})
export type AuditRecord = z.infer<typeof AuditRecord>

export const AuditQuery = PageQuery.extend({
  order: z.enum(['newest', 'oldest']).default('newest'),
  /** Name of the actor or of its owner. */
  user: z.string().max(200).optional(),
  result: z.enum(AUDIT_RESULTS).optional(),
  /** Part of the action, of the path or of the detail. Case does not matter. */
  q: z.string().trim().max(200).optional(),
})

/** Where the chain begins and ends. */
export const AuditChain = z.object({
  /** Number of the newest record, and its hash. */
  last: z.object({ seq: z.int(), hash: z.string() }),
  /** Number of the newest deleted record, and its hash; 0 if none was deleted because of its age. */
  deleted: z.object({ seq: z.int(), hash: z.string() }),
})
export type AuditChain = z.infer<typeof AuditChain>

/** Hash before the first record. */
export const AUDIT_START = '0'.repeat(64)

/** Returns the text that is hashed for a record, after the hash of the record before it. */
export function auditText(previous: string, { hash: _hash, ...record }: AuditRecord): string {
  const { seq, at, kind, actorId, actor, owner, action, target, result, code, detail, address, client, requestId } = record
  const fields = [seq, at, kind, actorId, actor, owner, action, target, result, code, detail, address, client, requestId]
  return `${previous}\n${JSON.stringify(fields.map((field) => field ?? null))}`
}

/** Checks records one after the other. Returns a function that returns what is wrong with the next record, or undefined. */
export function openAuditCheck(
  start: AuditChain['deleted'],
  sha256: (text: string) => string,
): (record: AuditRecord) => string | undefined {
  let before = start
  return (record) => {
    const { seq, hash } = record
    const expected = before.seq + 1
    if (seq !== expected) return `record ${expected} is missing or out of order: record ${seq} follows record ${before.seq}`
    if (sha256(auditText(before.hash, record)) !== hash) return `record ${seq} was changed, or the record before it`
    before = { seq, hash }
    return undefined
  }
}
