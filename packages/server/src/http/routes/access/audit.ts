/** The audit log. */
import { AuditChain, AuditQuery, AuditRecord, page } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { present } from '../../../builds/lifecycle/view.ts'
import { foreignCursor } from '../../../store/cursor.ts'
import { findAuditChain, listAuditRecords } from '../../../store/access/audit.ts'
import { ok, route, type Route } from '../../route.ts'

export function auditRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/audit', {
      summary: 'List the records of the audit log',
      allow: 'see-audit',
      scope: 'audit:read',
      query: AuditQuery,
      replies: { 200: page(AuditRecord) },
      async handle({ query: { cursor, ...filter } }) {
        const after = cursor === undefined ? undefined : Number(cursor)
        if (after !== undefined && !Number.isSafeInteger(after)) throw foreignCursor()
        const { records, next } = await listAuditRecords(app.store.query, app.accountId, {
          after,
          user: filter.user,
          result: filter.result,
          q: filter.q,
          order: filter.order,
          limit: filter.limit,
        })
        return ok({ items: records, ...present({ next: next?.toString() }) })
      },
    }),
    route('GET', '/v1/audit/chain', {
      summary: 'Show the first and the last hash of the audit log',
      allow: 'see-audit',
      scope: 'audit:read',
      replies: { 200: AuditChain },
      handle: async () => ok(await findAuditChain(app.store.query, app.accountId)),
    }),
  ]
}
