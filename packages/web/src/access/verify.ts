/** Checks the chain of hashes of the audit log in the browser, as `windlass audit verify` does. */
import { auditText, openAuditCheck, type AuditRecord } from '@windlass/protocol'
import { client } from '../server/client.ts'

const PAGE_SIZE = 500

export interface Verified {
  readonly count: number
  /** What is wrong; absent if the chain is whole. */
  readonly problem?: string
  /** The newest record that was checked. */
  readonly last?: Pick<AuditRecord, 'seq' | 'hash'>
}

/** Reads all records, oldest first, and checks each against the one before it. Calls `onCount` while it works. */
export async function verifyAudit(onCount: (count: number) => void): Promise<Verified> {
  const chain = await client.audit.chain()
  const hashes = new Map<string, string>()
  const check = openAuditCheck(chain.deleted, (text) => hashes.get(text) ?? '')
  let before = chain.deleted.hash
  let last: AuditRecord | undefined
  let cursor: string | undefined = String(chain.deleted.seq)
  let count = 0
  while (cursor !== undefined) {
    const page: { readonly items: readonly AuditRecord[]; readonly next?: string | undefined } = await client.audit.list({
      query: { order: 'oldest', limit: PAGE_SIZE, cursor },
    })
    hashes.clear()
    for (const record of page.items) {
      const text = auditText(before, record)
      hashes.set(text, await digest(text))
      before = record.hash
    }
    for (const record of page.items) {
      const problem = check(record)
      if (problem !== undefined) return { count, problem }
      last = record
      count += 1
    }
    onCount(count)
    cursor = page.next
  }
  if ((last?.seq ?? chain.deleted.seq) < chain.last.seq)
    return { count, problem: `record ${chain.last.seq} is missing at the end` }
  return { count, ...(last !== undefined && { last: { seq: last.seq, hash: last.hash } }) }
}

async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Returns why the browser cannot check the chain: it computes hashes only over TLS or on this machine. */
export function whyNotVerified(): string | undefined {
  return isSecureContext ? undefined : 'The browser computes hashes only over TLS. Use `windlass audit verify`.'
}
