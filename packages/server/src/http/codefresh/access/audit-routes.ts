/** The audit log for public clients, as comma-separated values (RFC 4180). */
import { fault } from '@windlass/kit'
import { auditHeading, auditLine, type AuditColumn } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { openOutlet } from '../../../feed/event-stream.ts'
import { listAuditRecords } from '../../../store/access/audit.ts'
import { route, type Route } from '../../route.ts'

const PAGE = 1_000

const COLUMNS = [
  'seq',
  'at',
  'kind',
  'actorId',
  'actor',
  'owner',
  'action',
  'target',
  'result',
  'code',
  'detail',
  'address',
  'client',
  'requestId',
  'hash',
] as const satisfies readonly AuditColumn[]

const Milliseconds = z.coerce.number().int().min(0)

const DownloadQuery = z.looseObject({
  userName: z.string().max(200).optional(),
  from: Milliseconds.optional(),
  to: Milliseconds.optional(),
  /** `ASK` for oldest first, `DESK` for newest first, as clients spell it. */
  sortType: z.enum(['ASK', 'DESK']).default('DESK'),
  sortField: z.enum(['id', 'createdAt', 'updatedAt']).optional(),
})

export function publicAuditRoutes(app: App): Route[] {
  return [
    route('GET', '/api/audit/download', {
      summary: 'Download the audit log as comma-separated values',
      allow: 'see-audit',
      scope: 'audit:read',
      query: DownloadQuery,
      replies: { 200: 'text' },
      isHeld: true,
      async handle({ query, actor, reply, signal }) {
        const { userName: user, from = 0, to = Infinity, sortType, sortField: _sortField, ...others } = query
        const [other] = Object.keys(others)
        if (other !== undefined)
          throw fault('request-invalid', {
            message: `The audit log cannot be filtered by ${other}.`,
            hint: 'Use userName, from and to.',
          })
        using _reader = app.readers.take(actor)
        const headers = { 'content-type': 'text/csv; charset=utf-8', 'cache-control': 'no-store' }
        const outlet = openOutlet(app, reply, { status: 200, headers, signal })
        try {
          await outlet.write(auditHeading(COLUMNS))
          const order = sortType === 'ASK' ? 'oldest' : 'newest'
          let after: number | undefined
          do {
            const filter = { order, after, user, result: undefined, limit: PAGE } as const
            const { records, next } = await listAuditRecords(app.store.query, app.accountId, filter)
            const wanted = records.filter(({ at }) => at >= from && at <= to)
            if (wanted.length > 0) await outlet.write(wanted.map((record) => auditLine(record, COLUMNS)).join(''))
            after = next
          } while (after !== undefined && !signal.aborted)
          outlet.end()
        } catch (error) {
          // The status has been sent: only a cut connection tells the client that the log is not whole.
          reply.raw.destroy()
          if (!signal.aborted) app.log.warn({ err: error }, 'download of the audit log aborted')
        }
        return 'stream'
      },
    }),
  ]
}
